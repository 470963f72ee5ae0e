import { describe, expect, it } from "vitest";
import { terminalPicture } from "../demo/terminal.ts";
import { DemoRuns } from "./demo-run.ts";

const runs = new DemoRuns();

describe("npm run demo", () => {
  it("--once shows the whole life of a Compute, says what each step cost, and leaves nothing behind", async () => {
    const demo = await runs.start("--once", "--model");
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
    expect(runs.left()).toEqual([]);
  });
});
