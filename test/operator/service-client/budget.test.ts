import { getEventListeners } from "node:events";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import type { Priority } from "../../../src/operator/service-client/priority.ts";
import { budgetOf, forever } from "../../support/request-budget.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

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

  test("lets many thousands out at once after a pause, where the burst allows it", async () => {
    const count = 20_000;
    const clock = new VirtualClock();
    const budget = new RequestBudget(clock, { perMinute: 1, burst: count });
    budget.closeFor(1000);
    let taken = 0;
    for (let n = 0; n < count; n += 1) {
      const who = {};
      const ask = () => {
        taken += budget.tryTake("refresh", who, ask) ? 1 : 0;
      };
      ask();
    }
    expect(taken).toBe(0);
    await clock.advance(1000);
    expect(taken).toBe(count);
  });

  test("never exceeds burst and rate in any order of calls, and serves every caller in turn", async () => {
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

  test("a budget is closed altogether for as long as the service asks, and no shorter pause opens it sooner", async () => {
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

  test("counts the time before new figures at the old ones", async () => {
    const { clock, budget, ask } = budgetOf(1, 100);
    for (let n = 0; n < 100; n += 1) ask();
    await clock.advance(60_000);
    budget.setLimits({ perMinute: 600, burst: 100 });
    expect(budget.available).toBe(1);
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

describe("a caller that waits", () => {
  const patienceMs = 5000;

  test("a caller is let out at once where the budget is open, however short its patience", async () => {
    const { budget } = budgetOf(60, 1);
    expect(await budget.take("write", forever, 0)).toBeUndefined();
  });

  test("waits through a pause that is no longer than its patience, and gives up a longer one", async () => {
    const { clock, budget, sent } = budgetOf(60, 1);
    budget.closeFor(3000);
    const patient = budget.take("write", forever, patienceMs);
    await clock.advance(3000);
    expect(await patient).toBeUndefined();
    const waiting = budget.take("write", forever, patienceMs);
    budget.closeFor(30_000);
    expect(await waiting).toBe(30_000);
    expect(clock.pending).toBe(0);
    await clock.advance(30_000);
    expect([budget.available, sent]).toEqual([1, []]);
  });

  test("leaves no listener on its signal, which may outlive many requests", async () => {
    const { signal } = new AbortController();
    const { clock, budget } = budgetOf(60, 1);
    const both = [budget.take("write", signal, patienceMs), budget.take("write", signal, patienceMs)];
    await clock.advance(1000);
    await Promise.all(both);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("how long requests waited", () => {
  function measured() {
    const clock = new VirtualClock();
    const waits: number[] = [];
    const budget = new RequestBudget(clock, { perMinute: 60, burst: 1 }, (seconds) => waits.push(seconds));
    return { clock, budget, waits };
  }

  test("the wait of a request is counted in seconds, from when it first asked", async () => {
    const { clock, budget, waits } = measured();
    for (let n = 0; n < 3; n += 1) void budget.take("write", forever, 0);
    await clock.advance(2000);
    expect(waits).toEqual([0, 1, 2]);
  });

  test("includes a pause, and the time before the caller became more urgent", async () => {
    const { clock, budget, waits } = measured();
    const tryTake = (priority: Priority) => budget.tryTake(priority, "one", () => {});
    await budget.take("write", forever, 0);
    await clock.advance(500);
    tryTake("refresh");
    await clock.advance(250);
    tryTake("plan");
    await clock.advance(250);
    budget.closeFor(2000);
    expect(tryTake("plan")).toBe(false);
    await clock.advance(2000);
    expect(tryTake("plan")).toBe(true);
    expect(waits).toEqual([0, 2.5]);
  });
});
