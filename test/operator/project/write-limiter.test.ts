import { describe, expect, test } from "vitest";
import { ProjectWriteLimiter } from "../../../src/operator/project/write-limiter.ts";
import { WriteWindow } from "../../../src/operator/project/write-window.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A limiter, and the ends of the operations that still run. */
function limiterOf({ showsNames = true, clock = new VirtualClock(), window = new WriteWindow(clock) } = {}) {
  const running: number[] = [];
  const state = { showsNames, stuck: "none" };
  const enqueued: string[] = [];
  const limiter = new ProjectWriteLimiter({
    clock,
    window,
    showsNames: () => state.showsNames,
    enqueue: (uids) => enqueued.push(...uids),
    mayStart: (uid) => !uid.startsWith(state.stuck),
    operations: {
      writesRunningAt: (at) => running.filter((end) => end > at).length,
      nextEndAfter: (at) => running.filter((end) => end > at).toSorted((a, b) => a - b)[0],
    },
  });
  /** A Compute writes, and the service accepts it: its operation takes so long. */
  const write = (uid: string, operationMs = 0) => {
    const taken = limiter.take(uid);
    if (!taken) return false;
    limiter.sends(uid);
    if (operationMs > 0) running.push(clock.monotonic() + operationMs);
    limiter.accepted(uid);
    return true;
  };
  return { clock, limiter, running, state, write, news: () => enqueued.splice(0) };
}

describe("Computes that could not get a worker", () => {
  test("Computes that could not get a worker are passed over, and called in the second after they could", async () => {
    const { clock, limiter, state, news } = limiterOf();
    state.stuck = "evil";
    expect(limiter.take("first", "good")).toBe(true);
    for (const uid of ["evil-1", "evil-2"]) expect(limiter.take(uid, "evil")).toBe(false);
    expect(limiter.take("good-1", "good")).toBe(false);
    limiter.give("first");
    expect([news(), limiter.take("good-1", "good")]).toEqual([["good-1"], true]);
    limiter.give("good-1");
    await clock.advance(5000);
    expect(news()).toEqual([]);
    state.stuck = "none";
    await clock.advance(1000);
    expect([news(), limiter.take("evil-1", "evil")]).toEqual([["evil-1"], true]);
  });

  test("keep no place while they wait for the request budget", () => {
    const { limiter, state } = limiterOf();
    expect(limiter.take("evil-1", "evil")).toBe(true);
    limiter.waitsForBudget("evil-1");
    expect(limiter.take("good-1", "good")).toBe(false);
    state.stuck = "evil";
    expect(limiter.take("good-1", "good")).toBe(true);
    expect(limiter.take("evil-1", "evil")).toBe(false);
  });

  test("Computes that wait behind one which waits for the request budget go on soon after that could not start", async () => {
    const { clock, limiter, state, news } = limiterOf();
    limiter.take("evil-1", "evil");
    limiter.waitsForBudget("evil-1");
    expect(limiter.take("good-1", "good")).toBe(false);
    await clock.advance(60_000);
    expect(news()).toEqual([]);
    state.stuck = "evil";
    await clock.advance(1000);
    expect([news(), limiter.take("good-1", "good")]).toEqual([["good-1"], true]);
  });
});

describe("writes to one project", () => {
  test("go one at a time at first; the next Compute is called when the place is given back", () => {
    const { limiter, news } = limiterOf();
    expect([limiter.take("a"), limiter.take("b"), news()]).toEqual([true, false, []]);
    limiter.give("a");
    expect([news(), limiter.take("b")]).toEqual([["b"], true]);
  });

  test("writes are not held up by a place that a connection which is no longer used kept for the budget", () => {
    const clock = new VirtualClock();
    const window = new WriteWindow(clock);
    const [old, other] = [limiterOf({ clock, window }), limiterOf({ clock, window })];
    expect([old.limiter.take("a"), other.limiter.take("b")]).toEqual([true, false]);
    old.limiter.waitsForBudget("a");
    old.limiter.stop();
    expect(window.underWay).toBe(0);
    expect(other.limiter.take("b")).toBe(true);
    old.limiter.give("a");
    expect(window.underWay).toBe(1);
  });

  test("count until they have ended, also through a connection that is no longer used", () => {
    const clock = new VirtualClock();
    const window = new WriteWindow(clock);
    const [old, other] = [limiterOf({ clock, window }), limiterOf({ clock, window })];
    old.limiter.take("a");
    old.limiter.stop();
    expect(other.limiter.take("b")).toBe(false);
    old.limiter.give("a");
    expect(other.limiter.take("b")).toBe(true);
  });

  test("go tenant by tenant, however many Computes of one wait", () => {
    const { limiter, news } = limiterOf();
    limiter.take("holder", "x");
    for (const uid of ["a1", "a2", "a3", "b1"]) limiter.take(uid, uid.slice(0, 1));
    limiter.give("holder");
    expect(news()).toEqual(["a1"]);
    for (const [uid, next] of [
      ["a1", "b1"],
      ["b1", "a2"],
      ["a2", "a3"],
    ] as const) {
      expect(limiter.take(uid, uid.slice(0, 1))).toBe(true);
      limiter.give(uid);
      expect(news()).toEqual([next]);
    }
  });

  test("go on after a pause whose end came while the process computed", async () => {
    for (let offeredAt = 80; offeredAt <= 100; offeredAt += 1) {
      const { clock, limiter, news } = limiterOf();
      limiter.take("a");
      limiter.refused("a");
      limiter.leave("a");
      expect(limiter.take("b")).toBe(false);
      await clock.advance(offeredAt);
      clock.readsTake(2);
      limiter.offer();
      clock.readsTake(0);
      await clock.advance(1000);
      expect({ offeredAt, news: news() }).toEqual({ offeredAt, news: ["b"] });
    }
  });

  test("go on after a 423 whose pause ended while the process stood still", async () => {
    const { clock, limiter, news } = limiterOf();
    limiter.take("a");
    clock.readsTake(60);
    limiter.refused("a");
    clock.readsTake(0);
    limiter.give("a");
    await clock.advance(10_000);
    expect([news(), limiter.take("a")]).toEqual([["a"], true]);
  });

  test("wait for the operations of an earlier write until these are expected to end, without a poll", async () => {
    const { clock, limiter, write, running, news } = limiterOf();
    limiter.take("a");
    limiter.refused("a");
    limiter.leave("a");
    running.push(400);
    expect(limiter.take("b")).toBe(false);
    await clock.advance(399);
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect([news(), write("b")]).toEqual([["b"], true]);
  });

  test("go in parallel while they are accepted: each one accepted makes room for one more", () => {
    const { limiter, write } = limiterOf();
    const last = Array.from({ length: 10 }, (_, n) => write(`uid-${n}`, 60_000));
    expect(last).toEqual(Array.from({ length: 10 }, () => true));
    expect(limiter.take("next")).toBe(true);
  });

  test("go one at a time again for ten minutes after a 423, and then are tried in parallel again", async () => {
    const { clock, limiter, write } = limiterOf();
    for (let n = 0; n < 5; n += 1) write(`uid-${n}`);
    limiter.take("refused");
    limiter.refused("refused");
    limiter.leave("refused");
    const both = () => {
      const taken = [limiter.take("a"), limiter.take("b")];
      limiter.leave("a");
      limiter.leave("b");
      return taken;
    };
    for (let minute = 0; minute < 9; minute += 1) {
      await clock.advance(60_000);
      expect([write("again"), both()]).toEqual([true, [true, false]]);
    }
    await clock.advance(60_000);
    expect([write("again"), both()]).toEqual([true, [true, true]]);
  });

  test("writes that took their place before a 423 do not leave after it", () => {
    const { limiter, write } = limiterOf();
    for (const uid of ["x", "y", "z"]) write(uid);
    for (const uid of ["a", "b", "c"]) expect(limiter.take(uid)).toBe(true);
    expect(limiter.sends("a")).toBe(true);
    expect(limiter.sends("b")).toBe(true);
    limiter.refused("a");
    expect(limiter.sends("c")).toBe(false);
    limiter.give("c");
    limiter.accepted("b");
    expect(limiter.take("a")).toBe(true);
    expect(limiter.sends("a")).toBe(true);
  });

  test("writes are called for the request budget one at a time, once a write had to wait there", () => {
    const { limiter, write, news } = limiterOf();
    for (const uid of ["x", "y", "z"]) write(uid);
    limiter.take("a");
    limiter.waitsForBudget("a");
    for (const uid of ["b", "c", "d"]) expect(limiter.take(uid)).toBe(false);
    expect([news(), limiter.take("a"), limiter.sends("a"), news()]).toEqual([[], true, true, ["b"]]);
    limiter.accepted("a");
    expect(news()).toEqual([]);
    // It did not have to wait: the budget has room for more.
    expect([limiter.take("b"), limiter.sends("b"), news()]).toEqual([true, true, ["c", "d"]]);
  });

  test("pause after a 423, ever longer until one is accepted", async () => {
    const { clock, limiter, write, news } = limiterOf();
    const pauses: number[] = [];
    for (let n = 0; n < 8; n += 1) {
      expect(limiter.take("a")).toBe(true);
      limiter.refused("a");
      limiter.take("a");
      const from = clock.monotonic();
      while (news().length === 0) await clock.advance(50);
      pauses.push(clock.monotonic() - from);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000]);
    write("a");
    limiter.take("a");
    limiter.refused("a");
    expect(limiter.take("a")).toBe(false);
    await clock.advance(100);
    expect(news()).toEqual(["a"]);
  });

  test("go one at a time where the service is not known to show names", () => {
    const { limiter, state, write } = limiterOf({ showsNames: false });
    for (let n = 0; n < 5; n += 1) expect(write(`uid-${n}`)).toBe(true);
    expect([limiter.take("a"), limiter.take("b")]).toEqual([true, false]);
    state.showsNames = true;
    expect(limiter.take("b")).toBe(true);
  });

  test("wait for the request budget one of a project at a time, however many may be under way", () => {
    const { limiter, write, news } = limiterOf();
    for (let n = 0; n < 5; n += 1) write(`uid-${n}`);
    limiter.take("a");
    limiter.waitsForBudget("a");
    expect(limiter.take("b")).toBe(false);
    expect([limiter.take("a"), limiter.take("b")]).toEqual([true, true]);
    expect(news()).toEqual([]);
  });

  test("writes are sent in order; each place is offered to one Compute, and to the next if that no longer wants it", () => {
    const { limiter, news } = limiterOf();
    limiter.take("holder");
    for (const uid of ["a", "b", "c"]) limiter.take(uid);
    limiter.give("holder");
    expect(news()).toEqual(["a"]);
    limiter.give("a");
    expect(news()).toEqual(["b"]);
  });

  test("a place is offered to the next Compute if a called one never comes", async () => {
    const { clock, limiter, news } = limiterOf();
    limiter.take("holder");
    for (const uid of ["a", "b"]) limiter.take(uid);
    limiter.give("holder");
    expect(news()).toEqual(["a"]);
    await clock.advance(10_000);
    expect(news()).toEqual(["b"]);
  });

  test("neither hold nor keep a place for a Compute that leaves", () => {
    const { limiter, news } = limiterOf();
    for (const uid of ["holder", "a", "b"]) limiter.take(uid);
    limiter.leave("a");
    limiter.leave("holder");
    expect(news()).toEqual(["b"]);
  });

  test("writes are called ahead of the expected end by most of the time that a Compute takes to send", async () => {
    const { clock, limiter, running, write, news } = limiterOf();
    limiter.take("first");
    limiter.refused("first");
    limiter.leave("first");
    await clock.advance(1000);
    for (let n = 0; n < 50; n += 1) {
      limiter.take("slow");
      await clock.advance(20);
      limiter.sends("slow");
      limiter.accepted("slow");
    }
    running.push(clock.monotonic() + 400);
    expect(write("next")).toBe(false);
    await clock.advance(385);
    expect(news()).toEqual([]);
    await clock.advance(2);
    expect(news()).toEqual(["next"]);
  });
});
