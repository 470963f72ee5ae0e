import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RequestBudget } from "../../../src/operator/client/budget.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const forever = new AbortController().signal;

function budgetOf(perMinute: number, burst: number) {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute, burst });
  const sent: { at: number; who: number }[] = [];
  let asked = 0;
  const ask = (signal = forever) => {
    const who = asked++;
    budget.take(signal).then(
      () => sent.push({ at: clock.monotonic(), who }),
      () => {},
    );
  };
  return { clock, budget, sent, ask };
}

describe("a request budget", () => {
  test("lets a burst out at once, then one at a time, in the order in which they asked", async () => {
    const { clock, sent, ask } = budgetOf(60, 3);
    for (let n = 0; n < 5; n += 1) ask();
    await clock.advance(0);
    expect(sent.map(({ who }) => who)).toEqual([0, 1, 2]);
    await clock.advance(2000);
    expect(sent.map(({ at, who }) => [at, who])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [1000, 3],
      [2000, 4],
    ]);
  });

  test("never lets out more than burst and rate allow, whoever asks when, and lets out everybody in turn", async () => {
    const asks = fc.array(fc.record({ waitMs: fc.nat(3000), count: fc.integer({ min: 1, max: 30 }) }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3000 }),
        fc.integer({ min: 1, max: 50 }),
        asks,
        async (perMinute, burst, all) => {
          const { clock, sent, ask } = budgetOf(perMinute, burst);
          let total = 0;
          for (const { waitMs, count } of all) {
            await clock.advance(waitMs);
            for (let n = 0; n < count; n += 1) ask();
            total += count;
          }
          await clock.advance((total * 60_000) / perMinute + 1000);
          expect(sent.map(({ who }) => who)).toEqual(Array.from({ length: total }, (_, n) => n));
          for (const [first, from] of sent.entries()) {
            for (const [last, to] of sent.entries()) {
              if (last < first) continue;
              const allowed = burst + ((to.at - from.at) / 60_000) * perMinute;
              expect(last - first + 1).toBeLessThanOrEqual(allowed + 1e-6);
            }
          }
          expect(clock.pending).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("is closed altogether for as long as the service asks, and no shorter pause opens it sooner", async () => {
    const { clock, budget, sent, ask } = budgetOf(600, 10);
    ask();
    await clock.settle();
    budget.closeFor(5000);
    budget.closeFor(1000);
    expect(budget.available).toBe(0);
    ask();
    await clock.advance(4999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    expect(sent).toHaveLength(2);
    expect(budget.available).toBe(9);
  });

  test("spends nothing on who gave up, and lets the next one go in its place", async () => {
    const { clock, sent, ask } = budgetOf(60, 1);
    const impatient = new AbortController();
    ask();
    ask(impatient.signal);
    ask();
    impatient.abort();
    ask(AbortSignal.abort());
    await clock.advance(1000);
    expect(sent.map(({ who }) => who)).toEqual([0, 2]);
    expect(clock.pending).toBe(0);
  });

  test("takes new figures at once, also lower ones", async () => {
    const { clock, budget, sent, ask } = budgetOf(60, 40);
    budget.setLimits({ perMinute: 600, burst: 2 });
    for (let n = 0; n < 4; n += 1) ask();
    await clock.advance(0);
    expect(sent).toHaveLength(2);
    await clock.advance(200);
    expect(sent).toHaveLength(4);
  });

  test("takes new figures also for those who stand in line already", async () => {
    const { clock, budget, sent, ask } = budgetOf(1, 1);
    for (let n = 0; n < 3; n += 1) ask();
    await clock.advance(10);
    expect(sent).toHaveLength(1);
    budget.setLimits({ perMinute: 600, burst: 1 });
    await clock.advance(200);
    expect(sent).toHaveLength(3);
  });
});

describe("a reservation", () => {
  function line(perMinute: number, burst: number) {
    const { clock, budget, sent, ask } = budgetOf(perMinute, burst);
    const ready: { at: number; who: string }[] = [];
    const reserve = (who: string) => budget.reserve(who, () => ready.push({ at: clock.monotonic(), who }));
    return { clock, budget, sent, ask, ready, reserve };
  }

  test("is granted at once where something is left, and then counts", async () => {
    const { budget, ready, reserve } = line(60, 1);
    expect([reserve("a"), reserve("a"), budget.available]).toEqual([true, false, 0]);
    expect(ready).toEqual([]);
  });

  test("keeps the place in the line, among those who wait, and calls when it is its turn; asking again moves nobody", async () => {
    const { clock, sent, ask, ready, reserve } = line(60, 1);
    ask();
    expect(reserve("a")).toBe(false);
    ask();
    expect([reserve("b"), reserve("a")]).toEqual([false, false]);
    await clock.advance(3000);
    expect(ready).toEqual([
      { at: 1000, who: "a" },
      { at: 3000, who: "b" },
    ]);
    expect(sent.map(({ at }) => at)).toEqual([0, 2000]);
    expect([reserve("b"), reserve("a")]).toEqual([true, true]);
  });

  test("that nobody comes for within ten seconds, or that was left, goes to others", async () => {
    const { clock, budget, sent, ask, ready, reserve } = line(1, 1);
    ask();
    reserve("a");
    reserve("b");
    ask();
    await clock.advance(60_000);
    expect(ready).toEqual([{ at: 60_000, who: "a" }]);
    await clock.advance(10_000);
    expect(ready.at(-1)).toEqual({ at: 70_000, who: "b" });
    budget.leave("b");
    await clock.advance(0);
    expect(sent.at(-1)).toEqual({ at: 70_000, who: 1 });
    reserve("c");
    budget.leave("c");
    expect(clock.pending).toBe(0);
  });

  test("whose second request follows goes before all who stand in line", async () => {
    const { clock, budget, sent, ask } = line(60, 1);
    for (let n = 0; n < 3; n += 1) ask();
    let at = 0;
    void (async () => {
      await budget.takeNext(forever);
      at = clock.monotonic();
    })();
    await clock.advance(3000);
    expect([at, sent.map((one) => one.at)]).toEqual([1000, [0, 2000, 3000]]);
  });

  test("says about how long it will be", async () => {
    const { budget, ask, reserve } = line(60, 1);
    ask();
    ask();
    reserve("a");
    expect(budget.waitOf("a")).toBe(2000);
    budget.closeFor(5000);
    expect(budget.waitOf("a")).toBe(7000);
  });
});
