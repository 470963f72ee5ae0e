import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { terminalPicture } from "../demo/terminal.ts";
import { Child, type ChildEnd } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { commandLines } from "../support/process-list.ts";

const main = join(import.meta.dirname, "..", "demo", "main.ts");

/** Everything that the demo writes to disk lies below it, and every process of it names a file there. */
let scratch: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  scratch = temporaryDirectory("demo");
});
afterEach(() => scratch.remove());

function startDemo(...args: string[]): Promise<Child> {
  const env = { ...process.env, TMPDIR: scratch.path };
  return Child.start({ name: "demo", command: process.execPath, args: [main, ...args], env });
}

function expectNothingLeft(): void {
  expect(commandLines().filter((line) => line.includes(scratch.path))).toEqual([]);
  // What claims ports expires.
  const left = readdirSync(scratch.path).filter((name) => name !== "compute-operator-ports");
  expect(left.filter((name) => name.startsWith("compute-operator-"))).toEqual([]);
}

describe("npm run demo", () => {
  it("--once shows the whole life of a Compute, says what each step cost, and leaves nothing behind", async () => {
    const demo = await startDemo("--once", "--model");
    const end = await demo.end;
    if (end.status !== 0) throw new Error(`the demo ended with ${end.status}:\n${demo.tail(60)}`);
    const costs = demo.lines.map((line) => /This cost the service (.*), (\d+|no) reads?\.$/.exec(line)?.[1]);
    const [applied = "", ...steps] = costs.filter((cost) => cost !== undefined);
    expect(applied).toContain("POST /projects/shiny-wind-028834/endpoints");
    expect(steps.map((cost) => cost.replaceAll(/ep-[a-z0-9-]+/g, "EP").replaceAll(/br-[a-z0-9-]+/g, "BR"))).toEqual([
      "1 write (POST /projects/shiny-wind-028834/endpoints)",
      "1 write (PATCH /projects/shiny-wind-028834/endpoints/EP)",
      "1 write (POST /projects/shiny-wind-028834/endpoints/EP/restart)",
      "2 writes (POST /projects/shiny-wind-028834/branches, POST /projects/shiny-wind-028834/endpoints)",
      "1 write (POST /projects/shiny-wind-028834/branches/BR/restore)",
      "1 write (PATCH /projects/shiny-wind-028834/branches/BR)",
      "1 write (PATCH /projects/shiny-wind-028834/endpoints/EP)",
      "no writes",
      "1 write (DELETE /projects/shiny-wind-028834/endpoints/EP)",
    ]);
    expect(demo.lines.at(-1)).toContain("All of it is stopped, and nothing is left behind.");
    expect(demo.lines.join("\n")).not.toContain("\u001b");
    // The README shows it.
    await expect(terminalPicture(demo.lines)).toMatchFileSnapshot("../../docs/images/demo.svg");
    expectNothingLeft();
  });

  it("leaves nothing behind when it is interrupted in the middle", async () => {
    const demo = await startDemo("--model");
    await demo.waitForLine(/the operator: /, 90_000);
    demo.signal("SIGINT");
    expect(await demo.end).toEqual<ChildEnd>({ status: 130, signal: null });
    expectNothingLeft();
  });

  it("leaves nothing behind when a plain kill ends npm, which hands the signal on to the demo and to no shell", async () => {
    const env = { ...process.env, TMPDIR: scratch.path };
    const args = ["run", "demo", "--", "--model"];
    const npm = await Child.start({ name: "npm run demo", command: "npm", args, env });
    await npm.waitForLine(/the operator: /, 90_000);
    process.kill(npm.pid, "SIGTERM");
    await npm.end;
    await eventually("the demo to have ended", () => {
      expectNothingLeft();
      return Promise.resolve(true);
    });
  });
});
