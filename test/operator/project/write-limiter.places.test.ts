import { describe, expect, test } from "vitest";
import { ProjectWriteLimiter } from "../../../src/operator/project/write-limiter.ts";
import { WriteWindow } from "../../../src/operator/project/write-window.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A limiter, and when the operations that still run are expected to end. */
function limiterOf({ clock = new VirtualClock(), window = new WriteWindow(clock), size = 1 } = {}) {
  const ends: number[] = [];
  const enqueued: string[] = [];
  for (let n = 1; n < size; n += 1) window.accepted();
  const limiter = new ProjectWriteLimiter({
    clock,
    window,
    showsNames: () => true,
    enqueue: (uids) => enqueued.push(...uids),
    operations: {
      writesRunningAt: (at) => ends.filter((end) => end > at).length,
      nextEndAfter: (at) => ends.filter((end) => end > at).toSorted((a, b) => a - b)[0],
    },
  });
  return { clock, window, limiter, ends, news: () => enqueued.splice(0) };
}

describe("places for the writes of a project", () => {
  test("places are offered to as many Computes as there are places, also by a connection that has just come to the project", () => {
    const clock = new VirtualClock();
    const window = new WriteWindow(clock);
    const [old, fresh] = [limiterOf({ clock, window, size: 2 }), limiterOf({ clock, window })];
    expect(["a", "b"].map((uid) => old.limiter.take(uid))).toEqual([true, true]);
    expect(["c", "d", "e"].map((uid) => fresh.limiter.take(uid))).toEqual([false, false, false]);
    for (const uid of ["a", "b"]) old.limiter.give(uid);
    fresh.limiter.offer();
    expect(fresh.news()).toEqual(["c", "d"]);
  });

  test("places are kept for the Computes that were called", () => {
    const { limiter, news } = limiterOf({ size: 2 });
    expect(["a", "b", "c"].map((uid) => limiter.take(uid))).toEqual([true, true, false]);
    limiter.give("b");
    expect([news(), limiter.take("d"), limiter.take("c")]).toEqual([["c"], false, true]);
  });

  test("a place is kept for ten seconds for a Compute that was called, and no shorter", async () => {
    const { clock, limiter, news } = limiterOf();
    await clock.advance(8000);
    for (const uid of ["a", "b", "c"]) limiter.take(uid);
    limiter.give("a");
    expect(news()).toEqual(["b"]);
    await clock.advance(9999);
    limiter.offer();
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect(news()).toEqual(["c"]);
  });

  test("call nobody who took a place without being called", async () => {
    const { clock, limiter, ends, news } = limiterOf();
    ends.push(1000);
    expect(limiter.take("a")).toBe(false);
    ends.length = 0;
    expect(limiter.take("a")).toBe(true);
    limiter.give("a");
    await clock.advance(20_000);
    expect([news(), clock.pending]).toEqual([[], 0]);
  });

  test("go one by one after a Compute had to wait for the request budget and gave up", () => {
    const { limiter, news } = limiterOf({ size: 3 });
    for (const uid of ["a", "b", "c"]) limiter.take(uid);
    limiter.waitsForBudget("a");
    for (const uid of ["d", "e"]) expect(limiter.take(uid)).toBe(false);
    for (const uid of ["b", "c"]) limiter.give(uid);
    expect(news()).toEqual([]);
    limiter.give("a");
    expect(news()).toEqual(["d"]);
  });
});

describe("a write that the service refused with 423", () => {
  test("gives its place back and is the first to be called when the pause is over", async () => {
    const { clock, window, limiter, news } = limiterOf();
    limiter.take("a");
    limiter.take("b");
    limiter.refused("a");
    expect([window.underWay, news(), limiter.take("c")]).toEqual([0, [], false]);
    await clock.advance(99);
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect(news()).toEqual(["a"]);
  });

  test("leaves no timer where nobody waits", () => {
    const { clock, limiter } = limiterOf();
    limiter.take("a");
    limiter.refused("a");
    limiter.leave("a");
    expect(clock.pending).toBe(0);
  });
});

describe("the timer of those who wait", () => {
  test("the timer is not set while only a write of this connection is under way: its end calls them", () => {
    const { clock, limiter } = limiterOf();
    limiter.take("a");
    limiter.take("b");
    expect(clock.pending).toBe(0);
  });

  test("asks again after 200 ms where another connection writes to the project", async () => {
    const clock = new VirtualClock();
    const window = new WriteWindow(clock);
    const [mine, other] = [limiterOf({ clock, window }), limiterOf({ clock, window })];
    expect([other.limiter.take("a"), mine.limiter.take("b")]).toEqual([true, false]);
    other.limiter.give("a");
    await clock.advance(199);
    expect(mine.news()).toEqual([]);
    await clock.advance(1);
    expect(mine.news()).toEqual(["b"]);
  });

  test("the timer is one, for the first place that becomes free", async () => {
    const { clock, limiter, ends, news } = limiterOf({ size: 2 });
    ends.push(500);
    limiter.take("a");
    for (const uid of ["b", "c"]) limiter.take(uid);
    limiter.give("a");
    expect([news(), clock.pending]).toEqual([["b"], 1]);
    await clock.advance(499);
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect(news()).toEqual(["c"]);
  });

  test("the timer is set for the next operation where one has just ended that counted a moment longer", async () => {
    const { clock, limiter, ends, news } = limiterOf();
    limiter.take("a");
    await clock.advance(100);
    // A fifth of the 100 ms counts; seven tenths of that is how early Computes are called from now on.
    limiter.sends("a");
    limiter.give("a");
    ends.push(1000, 2000);
    await clock.advance(905);
    expect(limiter.take("b")).toBe(false);
    await clock.advance(980);
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect(news()).toEqual(["b"]);
  });
});

test("a limiter that is stopped leaves no timer and calls nobody", async () => {
  const { clock, limiter, ends, news } = limiterOf();
  limiter.take("a");
  ends.push(1000);
  limiter.take("b");
  expect(clock.pending).toBe(1);
  limiter.stop();
  expect(clock.pending).toBe(0);
  limiter.give("a");
  await clock.advance(2000);
  limiter.offer();
  expect(news()).toEqual([]);
});
