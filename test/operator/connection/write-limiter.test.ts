import { describe, expect, test } from "vitest";
import { ProjectWriteLimiter } from "../../../src/operator/connection/write-limiter.ts";

function limiterOf() {
  const state = { busy: false };
  const enqueued: string[] = [];
  const limiter = new ProjectWriteLimiter({ enqueue: (uids) => enqueued.push(...uids), busy: () => state.busy });
  return { limiter, state, news: () => enqueued.splice(0) };
}

describe("the write limiter of a project", () => {
  test("has one holder at a time; waiting Computes are enqueued when it is given back", () => {
    const { limiter, news } = limiterOf();
    expect(limiter.take("a")).toBe(true);
    expect(limiter.take("b")).toBe(false);
    expect(news()).toEqual([]);
    limiter.give("a");
    expect(news()).toEqual(["b"]);
    expect(limiter.take("b")).toBe(true);
  });

  test("has no holder while operations of an earlier write run", () => {
    const { limiter, state, news } = limiterOf();
    state.busy = true;
    expect(limiter.take("a")).toBe(false);
    limiter.give("a");
    limiter.offer();
    expect(news()).toEqual([]);
    state.busy = false;
    limiter.offer();
    expect(news()).toEqual(["a"]);
  });

  test("is offered to the next Computes if the enqueued ones no longer want it", () => {
    const { limiter, news } = limiterOf();
    limiter.take("holder");
    for (const uid of ["a", "b", "c", "d", "e"]) limiter.take(uid);
    limiter.give("holder");
    expect(news()).toEqual(["a", "b", "c"]);
    limiter.give("a");
    expect(news()).toEqual(["d", "e"]);
  });

  test("does not enqueue a waiting Compute because of its own reconcile", () => {
    const { limiter, news } = limiterOf();
    limiter.take("holder");
    for (let n = 0; n < 100; n += 1) {
      expect(limiter.take("a")).toBe(false);
      limiter.give("a");
    }
    expect(news()).toEqual([]);
  });

  test("stays with the Compute that has it and asks again, unless operations have begun to run", () => {
    const { limiter, state, news } = limiterOf();
    expect([limiter.take("a"), limiter.take("a"), limiter.take("b")]).toEqual([true, true, false]);
    state.busy = true;
    expect(limiter.take("a")).toBe(false);
    state.busy = false;
    limiter.offer();
    expect(news()).toEqual(["b", "a"]);
  });

  test("is not offered to the Compute that has taken it while it waited", () => {
    const { limiter, state, news } = limiterOf();
    state.busy = true;
    for (const uid of ["a", "b"]) limiter.take(uid);
    state.busy = false;
    expect(limiter.take("a")).toBe(true);
    limiter.give("a");
    expect(news()).toEqual(["b"]);
  });

  test("is neither held by nor kept for a Compute that leaves", () => {
    const { limiter, news } = limiterOf();
    limiter.take("holder");
    limiter.take("a");
    limiter.take("b");
    limiter.leave("a");
    limiter.leave("holder");
    expect(news()).toEqual(["b"]);
  });

  test("is given to every waiting Compute, however many others arrive", () => {
    const { limiter, news } = limiterOf();
    const waiting = new Set(Array.from({ length: 50 }, (_, n) => `uid-${n}`));
    limiter.take("holder");
    for (const uid of waiting) limiter.take(uid);
    limiter.give("holder");
    for (let round = 0; round < 1000 && waiting.size > 0; round += 1) {
      // A new Compute asks in each round, after the enqueued ones.
      for (const uid of [...news(), `late-${round}`]) {
        const mine = limiter.take(uid);
        if (mine) waiting.delete(uid);
        if (mine) limiter.give(uid);
      }
    }
    expect(waiting.size).toBe(0);
  });
});
