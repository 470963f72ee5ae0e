// Prepares a fresh clone: installs the locked dependencies, Node 24 among them, when the lockfile has changed.
// Plain JavaScript for the machine's own Node, which may be older than the project's.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const stamp = "node_modules/.lockfile-installed";
const wanted = createHash("sha256")
  .update(readFileSync("package-lock.json"))
  .update(readFileSync("package.json"))
  .digest("hex");
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";

if (installed !== wanted) {
  console.error("Installing dependencies (about half a minute)…");
  // `npm ci` fails where optional packages of other platforms are not served; --no-save leaves the lockfile as it is.
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ["npm", []];
  const { status } = spawnSync(
    command,
    [...args, "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  if (status !== 0) {
    console.error(
      "npm install failed: see above. compute-operator needs the npm registry once, to install its dependencies.",
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}

const version = spawnSync("node_modules/.bin/node", ["-v"], { encoding: "utf8" }).stdout?.trim() ?? "none";
if (Number(/^v(\d+)/.exec(version)?.[1] ?? 0) < 24) {
  console.error(
    `compute-operator needs Node 24 and found ${version} in node_modules: run "npm install" again with install scripts allowed.`,
  );
  process.exit(1);
}
