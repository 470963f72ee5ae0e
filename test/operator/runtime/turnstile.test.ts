import { describe, expect, test } from "vitest";
import { Turnstile } from "../../../src/operator/runtime/turnstile.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A turnstile with so many places; `free` changes them. */
function setUp(places: number) {
  const clock = new VirtualClock();
  const state = { places, unable: "none" };
  const called: string[] = [];
  const turnstile = new Turnstile({ clock, free: () => state.places, moreAt: () => Number.NEGATIVE_INFINITY });
  const ask = (key: string) => {
    const isAble = () => !key.startsWith(state.unable);
    return turnstile.ask({ key, flow: key.slice(0, 1), ready: () => called.push(key), isAble });
  };
  return { clock, state, turnstile, ask, news: () => called.splice(0) };
}

describe("a turnstile", () => {
  test("a turnstile keeps a place for each caller that it calls, until that enters, leaves or is ten seconds late", async () => {
    const { clock, state, turnstile, ask, news } = setUp(0);
    for (const key of ["a", "b", "c"]) expect(ask(key)).toBe(false);
    state.places = 1;
    turnstile.offer();
    expect([news(), turnstile.called, turnstile.room]).toEqual([["a"], 1, 0]);
    expect(ask("d")).toBe(false);
    turnstile.leave("a");
    expect(news()).toEqual(["b"]);
    await clock.advance(9999);
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect([news(), ask("c"), ask("b")]).toEqual([["c"], true, false]);
  });

  test("a turnstile whose process stood still while it called takes back the place of a late caller all the same", async () => {
    const { clock, state, turnstile, ask, news } = setUp(0);
    for (const key of ["a", "b"]) ask(key);
    state.places = 1;
    turnstile.offer();
    await clock.advance(9998);
    // The place is not late when that is asked, and late afterwards.
    clock.readsTake(1);
    ask("c");
    clock.readsTake(0);
    expect(news()).toEqual(["a"]);
    await clock.advance(10_000);
    expect(news()).toEqual(["b"]);
  });

  test("a turnstile gives back a place on request without sending the caller away from where it waits", () => {
    const { state, turnstile, ask, news } = setUp(0);
    ask("a");
    turnstile.give("a");
    state.places = 1;
    turnstile.offer();
    expect(news()).toEqual(["a"]);
    turnstile.give("a");
    expect([turnstile.called, turnstile.waiting]).toEqual([0, 0]);
  });

  test("a turnstile has a caller that finds its place gone wait before all others", () => {
    const { state, turnstile, ask, news } = setUp(0);
    for (const key of ["a", "b"]) ask(key);
    state.places = 1;
    turnstile.offer();
    state.places = 0;
    expect([news(), ask("a")]).toEqual([["a"], false]);
    state.places = 1;
    turnstile.offer();
    expect(news()).toEqual(["a"]);
  });

  test("a turnstile keeps no more than its share of eight places for the callers of one flow, at least one for each tenant", () => {
    const { state, turnstile, ask, news } = setUp(0);
    for (let n = 0; n < 20; n += 1) for (const tenant of ["a", "b"]) ask(`${tenant}${n}`);
    state.places = 100;
    turnstile.offer();
    expect(news()).toEqual(Array.from({ length: 4 }, (_, n) => [`a${n}`, `b${n}`]).flat());
    for (const tenant of "cdefghijk") state.places = ask(`${tenant}0`) ? 100 : 0;
    expect(turnstile.called).toBe(8 + 9);
  });

  test("a turnstile passes over who cannot come, lets in who asks, and asks the others again in a second", async () => {
    const { clock, state, turnstile, ask, news } = setUp(0);
    for (const key of ["a1", "a2"]) ask(key);
    [state.places, state.unable] = [2, "a"];
    turnstile.offer();
    expect([news(), ask("a2")]).toEqual([[], true]);
    turnstile.enter("a2");
    await clock.advance(999);
    state.unable = "none";
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect(news()).toEqual(["a1"]);
  });

  test("a turnstile tells when a caller first asked and when it was called", async () => {
    const { clock, state, turnstile, ask } = setUp(0);
    await clock.advance(5);
    ask("a");
    await clock.advance(5);
    state.places = 1;
    turnstile.offer();
    await clock.advance(5);
    expect([ask("a"), turnstile.enter("a")]).toEqual([true, { since: 5, calledAt: 10 }]);
  });

  test("a turnstile has no timer and calls nobody once it is dismissed, and keeps who is inside", () => {
    const { clock, state, turnstile, ask, news } = setUp(1);
    ask("a");
    for (const key of ["b", "c"]) ask(key);
    turnstile.dismiss();
    state.places = 3;
    turnstile.offer();
    expect([clock.pending, turnstile.waiting, turnstile.called, news()]).toEqual([0, 0, 0, []]);
  });
});
