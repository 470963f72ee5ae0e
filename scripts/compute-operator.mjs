#!/usr/bin/env node
// The command of the package. It names the Node that it needs before it loads the bundle: an older one ends in a stack
// trace of its module loader. Plain JavaScript for that older one.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  console.error(`compute-operator needs Node 24.16 or newer. This is Node ${process.versions.node}.`);
  process.exit(1);
}
await import("../dist/compute-operator.js");
