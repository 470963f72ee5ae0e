import { describe, expect, test } from "vitest";
import { budgetOf, forever } from "../../support/request-budget.ts";

describe("a pause", () => {
  function listening(perMinute = 60, burst = 1) {
    const { clock, budget } = budgetOf(perMinute, burst);
    const reported: number[] = [];
    const stop = budget.onPause(() => reported.push(clock.monotonic()));
    return { clock, budget, reported, stop };
  }

  test("a pause is reported when it begins and when it grows by a second or more, also if no request waits", async () => {
    const { clock, budget, reported } = listening();
    budget.closeFor(500);
    await clock.advance(400);
    budget.closeFor(1000);
    await clock.advance(100);
    budget.closeFor(3000);
    await clock.advance(10_000);
    expect(reported).toEqual([0, 500]);
    expect(clock.pending).toBe(0);
  });

  test("a pause of zero length is ignored", () => {
    const { budget, reported } = listening();
    const called: string[] = [];
    for (const who of ["first", "a"]) budget.tryTake("write", who, () => called.push(who));
    budget.closeFor(0);
    expect([reported, called]).toEqual([[], []]);
  });

  test("everybody who waits is served after a pause whose end came while the process computed", async () => {
    for (let offeredAt = 980; offeredAt <= 1000; offeredAt += 1) {
      const { clock, budget, sent, ask } = budgetOf(60_000, 3);
      budget.closeFor(1000);
      for (let n = 0; n < 5; n += 1) ask();
      await clock.advance(offeredAt);
      clock.readsTake(2);
      budget.setLimits({ perMinute: 60_000, burst: 3 });
      clock.readsTake(0);
      await clock.advance(10_000);
      expect({ offeredAt, served: sent.length }).toEqual({ offeredAt, served: 5 });
    }
  });

  test("no pause is reported without one, however long requests wait", async () => {
    const { clock, budget, reported } = listening();
    for (let n = 0; n < 5; n += 1) void budget.take("write", forever, 0);
    await clock.advance(10_000);
    expect(reported).toEqual([]);
  });

  test("a pause is not reported to a listener that was removed", async () => {
    const { clock, budget, reported, stop } = listening();
    budget.closeFor(1000);
    stop();
    await clock.advance(1000);
    budget.closeFor(1000);
    expect(reported).toEqual([0]);
  });

  test("a pause without a waiting request or a listener needs no timer", () => {
    const { clock, budget } = budgetOf(60, 1);
    budget.closeFor(1000);
    expect(clock.pending).toBe(0);
  });

  test("stops the clock of what waits for its turn alone", async () => {
    const { clock, budget } = budgetOf(60, 1);
    const times: number[] = [];
    const after = async (ms: number) => {
      await clock.advance(ms);
      times.push(budget.openMs);
    };
    await after(1000);
    budget.closeFor(5000);
    await after(2000);
    budget.closeFor(10_000);
    await after(9999);
    await after(2);
    budget.closeFor(1000);
    await after(2000);
    expect(times).toEqual([1000, 1000, 1000, 1001, 2001]);
  });
});
