// Prepares a fresh clone: installs the locked dependencies, Node 24 among them, when the lockfile has changed.
// Plain JavaScript for the machine's own Node, which may be older than the project's.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));

const stamp = "node_modules/.lockfile-installed";
const wanted = createHash("sha256").update(readFileSync("package-lock.json")).digest("hex");
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";

if (installed !== wanted) install();

const version = spawnSync("node_modules/.bin/node", ["-v"], { encoding: "utf8" }).stdout?.trim() || "none";
if (Number(/^v(\d+)/.exec(version)?.[1] ?? 0) < 24) {
  fail(
    `compute-operator needs Node 24 and found ${version} in node_modules. Remove node_modules and run this again ` +
      "with npm's install scripts allowed (no `ignore-scripts` in an .npmrc): one of them puts Node 24 there.",
  );
}
if (installed !== wanted) {
  // Another clone may share its files by hard links, and has not been installed.
  rmSync(stamp, { force: true });
  writeFileSync(stamp, wanted);
}

function install() {
  console.error("Installing dependencies (640 MB), half a minute to two…");
  // `npm ci` fails where optional packages of other platforms are not served; --no-save leaves the lockfile as it is.
  // The rest undoes what a person's own npm settings or NODE_ENV=production would leave out.
  const flags = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  const all = ["--include=dev", "--include=optional", "--engine-strict=false"];
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ["npm", []];
  const { status } = spawnSync(command, [...args, "install", ...flags, ...all], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) {
    fail(
      "npm install failed: see above. compute-operator needs a package registry once, to install what it is built on.",
    );
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
