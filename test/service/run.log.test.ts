import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startWithUs } from "../support/guardian.ts";

it("the service answers on although its log takes no line, as on a full disk", { timeout: 60_000 }, async () => {
  const logging = 'process.on("SIGUSR2", () => process.stdout.write(`${process.stderr.write("a line\\n")}\\n`))';
  const main = join(import.meta.dirname, "../../src/main.ts");
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
