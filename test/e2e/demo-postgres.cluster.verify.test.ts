import { join } from "node:path";
import { expect, it } from "vitest";
import { Child } from "../support/child.ts";

const main = join(import.meta.dirname, "..", "demo", "main.ts");

it("npm run demo shows databases, their sleep, restart and branches, on real Postgres servers", async () => {
  const demo = await Child.start({ name: "demo", command: process.execPath, args: [main, "--once"] });
  const end = await demo.end;
  if (end.status !== 0) throw new Error(`the demo ended with ${end.status}:\n${demo.tail(60)}`);
  const shown = demo.lines.join("\n");
  expect(shown.match(/hello from a compute/g)?.length).toBeGreaterThanOrEqual(4);
  expect(shown).toContain("hello from a branch");
  const [, seconds = ""] = /psql's answer through its Secret: ([\d.]+) s/.exec(shown) ?? [];
  expect(Number(seconds)).toBeGreaterThan(0);
  expect(shown).toMatch(/tables_named_scratch.*\D0\b/s);
  expect(shown).toMatch(/terminating connection due to administrator command/);
  expect(demo.lines.at(-1)).toContain("All of it is stopped, and nothing is left behind.");
});
