import { describe, expect, it } from "vitest";
import { crashPointAt, type Effect, type Verdict } from "./world/crash-point.ts";
import { play } from "./world/run.ts";
import { scenarios } from "./world/scenarios.ts";
import type { Script } from "./world/script.ts";

describe.each(Object.entries(scenarios))("%s", (_, script) => {
  it("keeps every promise when nothing goes wrong", async () => {
    expect((await play(script)).violations).toEqual([]);
  });

  it("keeps every promise when the operator dies after any one request", { timeout: 120_000 }, async () => {
    expect(await failuresOf(script, "crash")).toEqual([]);
  });

  it("keeps every promise when the reply to any one request is lost", { timeout: 120_000 }, async () => {
    expect(await failuresOf(script, "lose")).toEqual([]);
  });
});

/** Plays the script once for each request that it takes, and lets it go wrong at that one. */
async function failuresOf(script: Script, verdict: Verdict): Promise<string[]> {
  const { crashPoint, passed } = crashPointAt(0, "pass");
  let effects: readonly Effect[] = [];
  await play(script, {
    crashPoint,
    onCalm: () => {
      effects = [...passed()];
    },
  });
  const failures: string[] = [];
  for (const [index, { port, what }] of effects.entries()) {
    const { violations } = await play(script, { crashPoint: crashPointAt(index + 1, verdict).crashPoint });
    for (const { promise, message } of violations) {
      failures.push(`${verdict} at request ${index + 1} (${port}: ${what}): ${promise}: ${message}`);
    }
  }
  return failures;
}
