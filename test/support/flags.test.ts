import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

describe("a program that tries for an hour whether a promise holds", () => {
  it.each([
    ["simulation/simulate.ts --seed abc", "--seed must be a whole number from 1 on, not "],
    ["simulation/simulate.ts --seeds 0", "--seeds must be a whole number from 1 on"],
    ["simulation/simulate.ts --sed 3", "Unknown option '--sed'"],
    ["simulation/fault-pairs/main.ts --shard 9/8", "--shard must be K/N, the Kth of N parts, not"],
    ["soak/main.ts --minutes x", "--minutes must be a whole number from 1 on"],
    ["chaos/main.ts operator --computes -1", "--computes"],
    ["chaos/main.ts operater", "There is no operater."],
  ])("does not begin with nonsense: %s", (line, message) => {
    const [program = "", ...flags] = line.split(" ");
    const { status, stderr } = spawnSync(process.execPath, [`test/${program}`, ...flags], { encoding: "utf8" });
    expect(stderr).toContain(message);
    expect(stderr).toContain("Usage: npm run ");
    expect(status).toBe(1);
  });
});
