import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import type { Priority } from "../../../src/operator/service-client/priority-queue.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const forever = new AbortController().signal;

function budgetOf(perMinute: number, burst: number) {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute, burst });
  const sent: { at: number; who: number }[] = [];
  let asked = 0;
  const ask = (signal = forever) => {
    const who = asked++;
    budget.take("write", signal, Number.POSITIVE_INFINITY).then(
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

describe("a caller that does not wait", () => {
  function line(perMinute: number, burst: number) {
    const { clock, budget, sent, ask } = budgetOf(perMinute, burst);
    const called: { at: number; who: string }[] = [];
    const tryTake = (who: string, priority: Priority = "write") =>
      budget.tryTake(priority, who, () => called.push({ at: clock.monotonic(), who }));
    return { clock, budget, sent, ask, called, tryTake };
  }

  test("takes what is left at once; a second request is another", () => {
    const { budget, called, tryTake } = line(60, 1);
    expect([tryTake("a"), tryTake("a"), budget.available]).toEqual([true, false, 0]);
    expect(called).toEqual([]);
  });

  test("keeps its place among those who wait, and is called when it is its turn; asking again moves nobody", async () => {
    const { clock, sent, ask, called, tryTake } = line(60, 1);
    ask();
    expect(tryTake("a")).toBe(false);
    ask();
    expect([tryTake("b"), tryTake("a")]).toEqual([false, false]);
    await clock.advance(3000);
    expect(called).toEqual([{ at: 1000, who: "a" }]);
    expect(tryTake("a")).toBe(true);
    await clock.advance(2000);
    expect(sent.map(({ at }) => at)).toEqual([0, 4000]);
    expect(called.at(-1)).toEqual({ at: 5000, who: "b" });
    expect(tryTake("b")).toBe(true);
  });

  test("that leaves makes room for others at once, called or not", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    for (const who of ["first", "a", "b", "c"]) tryTake(who);
    budget.leave("b");
    await clock.advance(1000);
    budget.leave("a");
    expect(called.map(({ who }) => who)).toEqual(["a", "c"]);
    budget.leave("c");
    expect(clock.pending).toBe(0);
  });

  test("that neither comes nor leaves holds nobody up for more than a minute", async () => {
    const { clock, called, tryTake } = line(60, 1);
    for (const who of ["first", "gone", "next"]) tryTake(who);
    await clock.advance(60_999);
    expect(called.map(({ who }) => who)).toEqual(["gone"]);
    await clock.advance(1);
    expect(called.at(-1)).toEqual({ at: 61_000, who: "next" });
  });

  test("is called once when the service asks for a pause, so as to say so, and again when it is over", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    tryTake("first");
    tryTake("a");
    budget.closeFor(30_000);
    budget.closeFor(30_500);
    expect(called.map(({ who }) => who)).toEqual(["a"]);
    expect(tryTake("a")).toBe(false);
    await clock.advance(30_500);
    expect(called.map(({ at, who }) => [at, who])).toEqual([
      [0, "a"],
      [30_500, "a"],
    ]);
    expect(tryTake("a")).toBe(true);
  });

  test("that was called finds the budget closed by a pause, and keeps waiting", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    tryTake("first");
    tryTake("a");
    await clock.advance(1000);
    budget.closeFor(30_000);
    expect(tryTake("a")).toBe(false);
    await clock.advance(30_000);
    expect(called).toHaveLength(2);
    expect(tryTake("a")).toBe(true);
  });

  test("says about how long it will be", () => {
    const { budget, ask, tryTake } = line(60, 1);
    ask();
    ask();
    tryTake("a");
    tryTake("a list", "refresh");
    expect([budget.waitOf("a"), budget.waitOf("a list")]).toEqual([2000, 3000]);
    budget.closeFor(5000);
    expect(budget.waitOf("a")).toBe(7000);
  });

  test("who is long in coming keeps lists from nothing: few writes are called at a time", async () => {
    const { clock, called, tryTake } = line(600, 40);
    for (let n = 0; n < 40; n += 1) expect(tryTake(`first-${n}`)).toBe(true);
    for (let n = 0; n < 100; n += 1) tryTake(`write-${n}`);
    await clock.advance(10_000);
    expect(called).toHaveLength(8);
    expect(tryTake("a list", "refresh")).toBe(true);
    expect(tryTake("another write")).toBe(false);
  });

  test("leaves no timer behind where it is dismissed", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    for (const who of ["first", "a", "b"]) tryTake(who);
    budget.dismiss();
    expect(clock.pending).toBe(0);
    await clock.advance(10_000);
    expect(called).toEqual([]);
  });
});

describe("priorities", () => {
  /** What is sent where so many of each kind wait without end. */
  async function shares(kinds: readonly Priority[], requests: number): Promise<Record<string, number>> {
    const { clock, budget } = budgetOf(600, 1);
    const sent: Record<string, number> = {};
    for (const priority of kinds) {
      const ask = () => {
        if (!budget.tryTake(priority, priority, ask)) return;
        sent[priority] = (sent[priority] ?? 0) + 1;
        ask();
      };
      ask();
    }
    await clock.advance(requests * 100);
    return sent;
  }

  test("while writes wait, lists and polls share 5 % of the budget, those that resolve something first", async () => {
    const sent = await shares(["refresh", "follow", "plan", "resolve", "write"], 2000);
    expect(sent["write"]).toBeGreaterThanOrEqual(1890);
    expect(sent["write"]).toBeLessThanOrEqual(1910);
    expect(sent["resolve"]).toBeGreaterThanOrEqual(90);
    expect(sent["plan"]).toBeLessThanOrEqual(6);
  });

  test("refreshes take what is left, and are never starved", async () => {
    const sent = await shares(["refresh", "plan"], 2000);
    expect(sent["plan"]).toBeGreaterThanOrEqual(1890);
    expect(sent["refresh"]).toBeGreaterThanOrEqual(95);
  });

  test("where one alone waits, it has everything", async () => {
    expect(await shares(["refresh"], 100)).toEqual({ refresh: 101 });
  });

  test("a caller that becomes more urgent moves up, and none moves down", async () => {
    const { clock, budget } = budgetOf(60, 1);
    const called: string[] = [];
    const tryTake = (who: string, priority: Priority) => budget.tryTake(priority, who, () => called.push(who));
    for (const who of ["first", "a", "b", "c"]) tryTake(who, "refresh");
    tryTake("c", "plan");
    tryTake("c", "refresh");
    await clock.advance(1000);
    expect(called).toEqual(["c"]);
  });
});
