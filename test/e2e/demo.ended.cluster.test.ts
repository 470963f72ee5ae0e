import { describe, expect, it } from "vitest";
import { Child, type ChildEnd } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { DemoRuns } from "./demo-run.ts";

const runs = new DemoRuns();

describe("npm run demo that is ended", () => {
  it("the demo leaves nothing behind when it is interrupted in the middle", async () => {
    const demo = await runs.start("--model");
    await demo.waitForLine(/the operator: /);
    demo.signal("SIGINT");
    expect(await demo.end).toEqual<ChildEnd>({ status: 130, signal: null });
    expect(runs.left()).toEqual([]);
  });

  it("the demo leaves nothing behind when a plain kill ends npm, which hands the signal on to the demo and to no shell", async () => {
    const args = ["run", "demo", "--", "--model"];
    const npm = await Child.start({ name: "npm run demo", command: "npm", args, env: runs.env });
    await npm.waitForLine(/the operator: /);
    process.kill(npm.pid, "SIGTERM");
    await npm.end;
    await eventually("the demo to have ended", () => {
      expect(runs.left()).toEqual([]);
      return Promise.resolve(true);
    });
  });
});
