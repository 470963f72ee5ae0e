import { describe, expect, test } from "vitest";
import { ProjectWriteLimiter } from "../../../src/operator/connection/write-limiter.ts";

function turnOf() {
  const state = { busy: false };
  const woken: string[] = [];
  const turn = new ProjectWriteLimiter({ enqueue: (uids) => woken.push(...uids), busy: () => state.busy });
  return { turn, state, news: () => woken.splice(0) };
}

describe("a project's turn to write", () => {
  test("is one Compute's at a time; who comes later is woken when it is given back", () => {
    const { turn, news } = turnOf();
    expect(turn.take("a")).toBe(true);
    expect(turn.take("b")).toBe(false);
    expect(news()).toEqual([]);
    turn.give("a");
    expect(news()).toEqual(["b"]);
    expect(turn.take("b")).toBe(true);
  });

  test("is nobody's while operations of an earlier write run", () => {
    const { turn, state, news } = turnOf();
    state.busy = true;
    expect(turn.take("a")).toBe(false);
    turn.give("a");
    turn.offer();
    expect(news()).toEqual([]);
    state.busy = false;
    turn.offer();
    expect(news()).toEqual(["a"]);
  });

  test("is offered on where who was woken no longer wants it", () => {
    const { turn, news } = turnOf();
    turn.take("holder");
    for (const uid of ["a", "b", "c", "d", "e"]) turn.take(uid);
    turn.give("holder");
    expect(news()).toEqual(["a", "b", "c"]);
    turn.give("a");
    expect(news()).toEqual(["d", "e"]);
  });

  test("wakes nobody again and again: a pass of one that waits is no offer to itself", () => {
    const { turn, news } = turnOf();
    turn.take("holder");
    for (let n = 0; n < 100; n += 1) {
      expect(turn.take("a")).toBe(false);
      turn.give("a");
    }
    expect(news()).toEqual([]);
  });

  test("stays with the Compute that has it and asks again, unless operations have begun to run", () => {
    const { turn, state, news } = turnOf();
    expect([turn.take("a"), turn.take("a"), turn.take("b")]).toEqual([true, true, false]);
    state.busy = true;
    expect(turn.take("a")).toBe(false);
    state.busy = false;
    turn.offer();
    expect(news()).toEqual(["b", "a"]);
  });

  test("is not offered to the Compute that has taken it while it waited", () => {
    const { turn, state, news } = turnOf();
    state.busy = true;
    for (const uid of ["a", "b"]) turn.take(uid);
    state.busy = false;
    expect(turn.take("a")).toBe(true);
    turn.give("a");
    expect(news()).toEqual(["b"]);
  });

  test("is not held by who leaves, nor kept for it", () => {
    const { turn, news } = turnOf();
    turn.take("holder");
    turn.take("a");
    turn.take("b");
    turn.leave("a");
    turn.leave("holder");
    expect(news()).toEqual(["b"]);
  });

  test("comes to everybody who wants it, however many others come in between", () => {
    const { turn, news } = turnOf();
    const waiting = new Set(Array.from({ length: 50 }, (_, n) => `uid-${n}`));
    turn.take("holder");
    for (const uid of waiting) turn.take(uid);
    turn.give("holder");
    for (let round = 0; round < 1000 && waiting.size > 0; round += 1) {
      // Somebody new asks in each round, after those who were woken.
      for (const uid of [...news(), `late-${round}`]) {
        const mine = turn.take(uid);
        if (mine) waiting.delete(uid);
        if (mine) turn.give(uid);
      }
    }
    expect(waiting.size).toBe(0);
  });
});
