import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startWithUs, temporaryDirectory } from "../support/guardian.ts";

const main = join(import.meta.dirname, "../../src/main.ts");

it("the service answers on although its log takes no line, as on a full disk", { timeout: 60_000 }, async () => {
  const logging = 'process.on("SIGUSR2", () => process.stdout.write(`${process.stderr.write("a line\\n")}\\n`))';
  const args = ["--import", `data:text/javascript,${encodeURIComponent(logging)}`, main, "service", "--port", "0"];
  const service = startWithUs((own) => spawn(process.execPath, args, { ...own, stdio: ["ignore", "pipe", "pipe"] }));
  let said = "";
  service.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
  service.stderr?.destroy();
  await expect.poll(() => said, { timeout: 30_000 }).toContain("Console: ");
  for (const times of [1, 2]) {
    service.kill("SIGUSR2");
    await expect.poll(() => said.match(/^(?:true|false)$/gm)?.length).toBe(times);
  }
  const [, origin = ""] = /^Console: (.*)\/$/m.exec(said) ?? [];
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);
  service.kill("SIGTERM");
  expect(await once(service, "exit")).toEqual([0, null]);
});

it("the service starts although nobody takes what it says first, as on a full disk", { timeout: 60_000 }, async () => {
  const directory = temporaryDirectory("log");
  onTestFinished(() => directory.remove());
  const ready = join(directory.path, "ready");
  const args = [main, "service", "--port", "0", "--ready-file", ready];
  const service = startWithUs((own) => spawn(process.execPath, args, { ...own, stdio: ["ignore", "pipe", "pipe"] }));
  service.stdout?.destroy();
  await expect.poll(() => existsSync(ready) || service.exitCode !== null, { timeout: 30_000 }).toBe(true);
  const baseURL = readFileSync(ready, "utf8").trim();
  expect((await fetch(new URL("/healthz", baseURL))).status).toBe(200);
  service.kill("SIGTERM");
  expect(await once(service, "exit")).toEqual([0, null]);
});
