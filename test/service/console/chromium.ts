import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Where Debian's package puts it. */
const debian = "/usr/bin/chromium";

/** A browser in which nothing happens but what the test does. It begins with an empty profile. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await browserPath(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** The path of a Chromium; installs Debian's where there is none and this process may. Rejects with what to do. */
async function browserPath(): Promise<string> {
  const named = process.env["CHROMIUM"];
  if (named !== undefined) return named;
  if (existsSync(debian)) return debian;
  const problem = process.getuid?.() === 0 ? await install() : "only root can install it";
  if (problem === undefined && existsSync(debian)) return debian;
  throw new Error(
    `The tests of the console need a Chromium, there is none at ${debian}, and ${problem ?? "its package has none"}. ` +
      "Install it (Debian: apt-get install chromium), or set CHROMIUM to the path of a Chromium or Chrome.",
  );
}

/** Resolves with what went wrong, or `undefined`. */
async function install(): Promise<string | undefined> {
  console.error("Installing chromium with apt-get, about half a minute…");
  return (await aptGet("update")) ?? (await aptGet("install", "--yes", "--no-install-recommends", "chromium"));
}

function aptGet(...args: readonly string[]): Promise<string | undefined> {
  const apt = spawn("apt-get", ["-qq", "-o", "DPkg::Lock::Timeout=120", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  apt.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-1000);
  });
  return new Promise((resolve) => {
    apt.once("error", (error) => resolve(`apt-get cannot be run (${error.message})`));
    apt.once("close", (status) =>
      resolve(status === 0 ? undefined : `\`apt-get ${args.join(" ")}\` failed: ${said.trim()}`),
    );
  });
}
