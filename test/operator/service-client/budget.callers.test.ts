import { describe, expect, test } from "vitest";
import type { Priority } from "../../../src/operator/service-client/priority.ts";
import { budgetOf } from "../../support/request-budget.ts";

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

  test("a caller that leaves makes room for others at once, called or not", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    for (const who of ["first", "a", "b", "c"]) tryTake(who);
    budget.leave("b");
    await clock.advance(1000);
    budget.leave("a");
    expect(called.map(({ who }) => who)).toEqual(["a", "c"]);
    budget.leave("c");
    expect(clock.pending).toBe(0);
  });

  test("a caller that neither comes nor leaves holds nobody up for more than ten seconds", async () => {
    const { clock, called, tryTake } = line(60, 1);
    for (const who of ["first", "gone", "next"]) tryTake(who);
    await clock.advance(10_999);
    expect(called.map(({ who }) => who)).toEqual(["gone"]);
    await clock.advance(1);
    expect(called.at(-1)).toEqual({ at: 11_000, who: "next" });
  });

  test("a caller that fails when it is called holds nobody up for more than ten seconds either", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    tryTake("first");
    budget.tryTake("write", "bad", () => {
      throw new Error("a caller's mistake");
    });
    tryTake("next");
    await expect(clock.advance(1000)).rejects.toThrow("a caller's mistake");
    await clock.advance(10_000);
    expect(called.map(({ who }) => who)).toEqual(["next"]);
  });

  test("a caller is called once when the service asks for a pause, so as to say so, and again when it is over", async () => {
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

  test("a caller that was called finds the budget closed by a pause, and keeps waiting", async () => {
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

  test("says about how long it will be", async () => {
    const { clock, budget, ask, tryTake } = line(60, 1);
    ask();
    ask();
    tryTake("a");
    tryTake("a list", "refresh");
    expect([budget.waitOf("a"), budget.waitOf("a list")]).toEqual([2000, 3000]);
    await clock.advance(500);
    expect(budget.waitOf("a")).toBe(1500);
    budget.closeFor(5000);
    expect(budget.waitOf("a")).toBe(6500);
  });

  test("says about how long it will be behind others that were called, were served, or left", async () => {
    const { clock, budget, tryTake } = line(60, 1);
    for (const who of ["first", "a", "b", "c", "d", "e"]) tryTake(who);
    await clock.advance(1000);
    expect([budget.waitOf("a"), budget.waitOf("b"), budget.waitOf("e")]).toEqual([1000, 1000, 4000]);
    expect(tryTake("a")).toBe(true);
    expect([budget.waitOf("b"), budget.waitOf("e")]).toEqual([1000, 4000]);
    for (const who of ["b", "c"]) budget.leave(who);
    // Who left counts as if still there, up to how many wait.
    expect([budget.waitOf("d"), budget.waitOf("e")]).toEqual([2000, 2000]);
  });

  test("finds fewer requests available while some are set aside for others", async () => {
    const { clock, budget, tryTake } = line(60, 2);
    for (const who of ["first", "second", "a"]) tryTake(who);
    await clock.advance(1000);
    expect([budget.available, budget.takeSpare()]).toEqual([0, false]);
    await clock.advance(1000);
    expect([budget.available, budget.takeSpare()]).toEqual([1, true]);
  });

  test("a caller that is long in coming keeps nothing from one that asks: few are called at a time", async () => {
    const { clock, budget, called, tryTake } = line(600, 40);
    for (let n = 0; n < 40; n += 1) expect(tryTake(`first-${n}`)).toBe(true);
    for (let n = 0; n < 100; n += 1) tryTake(`write-${n}`);
    await clock.advance(10_000);
    expect([called.length, budget.available]).toEqual([8, 32]);
    expect([tryTake("a list", "refresh"), tryTake("another write")]).toEqual([true, true]);
    expect(tryTake("write-0")).toBe(true);
    expect(called.at(-1)).toEqual({ at: 10_000, who: "write-8" });
  });

  test("a repeat takes nothing that somebody waits for, called or not, able to come or not", async () => {
    const many = line(600, 40);
    for (let n = 0; n < 40; n += 1) many.tryTake(`first-${n}`);
    for (let n = 0; n < 100; n += 1) many.tryTake(`write-${n}`);
    await many.clock.advance(10_000);
    expect([many.budget.available, many.budget.takeSpare(), many.budget.available]).toEqual([32, false, 32]);
    const { clock, budget } = budgetOf(60, 3);
    for (const who of ["first", "second", "third"]) budget.tryTake("write", who, () => {});
    const isAble = () => false;
    expect(budget.tryTake("write", "unable", () => {}, "evil", isAble)).toBe(false);
    await clock.advance(3000);
    expect([budget.available, budget.takeSpare()]).toEqual([3, false]);
    budget.leave("unable");
    expect([budget.takeSpare(), budget.available]).toEqual([true, 2]);
  });

  test("a caller that comes after its place went to others is let in where there is room, however many are on their way", async () => {
    const { clock, called, tryTake } = line(600, 40);
    for (let n = 0; n < 40; n += 1) tryTake(`first-${n}`);
    for (let n = 0; n < 100; n += 1) tryTake(`write-${n}`);
    // Workers are so busy that each comes only after the next ones were called.
    await clock.advance(11_000);
    expect(called.map(({ who }) => who).slice(8, 16)).toEqual(Array.from({ length: 8 }, (_, n) => `write-${n + 8}`));
    expect(tryTake("write-0")).toBe(true);
  });

  test("where as many are called as may be, the next is when one of them comes, or is ten seconds late", async () => {
    const { clock, called, tryTake } = line(600, 9);
    for (let n = 0; n < 9; n += 1) tryTake(`first-${n}`);
    for (let n = 0; n < 9; n += 1) tryTake(`write-${n}`);
    await clock.advance(10_000);
    expect(called.at(-1)).toEqual({ at: 800, who: "write-7" });
    expect(clock.nextDue()).toBe(10_100);
    await clock.advance(100);
    expect(called.at(-1)).toEqual({ at: 10_100, who: "write-8" });
  });

  test("holds no more than its tenant's share of the places of those who were called", async () => {
    const { clock, budget } = budgetOf(600, 40);
    const called: string[] = [];
    const tryTake = (who: string, tenant: string) => budget.tryTake("write", who, () => called.push(who), tenant);
    for (let n = 0; n < 40; n += 1) tryTake(`first-${n}`, "evil");
    for (let n = 0; n < 20; n += 1) for (const tenant of ["evil", "good"]) tryTake(`${tenant}-${n}`, tenant);
    await clock.advance(800);
    expect(called.filter((who) => who.startsWith("evil"))).toHaveLength(4);
    // Those of the one never come; each of the other does, and has the next called.
    for (let n = 0; n < 16; n += 1) {
      expect(tryTake(`good-${n}`, "good")).toBe(true);
      await clock.advance(100);
    }
    expect(called.filter((who) => who.startsWith("evil"))).toHaveLength(4);
  });

  test("a caller that cannot come is not called, takes nothing from others, and is asked again in a second", async () => {
    const { clock, budget } = budgetOf(600, 2);
    const called: string[] = [];
    let hasRoom = false;
    const tryTake = (who: string, tenant: string) =>
      budget.tryTake(
        "write",
        who,
        () => called.push(who),
        tenant,
        () => tenant !== "evil" || hasRoom,
      );
    for (const who of ["first", "second"]) expect(tryTake(who, "good")).toBe(true);
    for (const who of ["evil-1", "evil-2"]) expect(tryTake(who, "evil")).toBe(false);
    await clock.advance(200);
    expect(called).toEqual([]);
    expect(["good-1", "good-2"].map((who) => tryTake(who, "good"))).toEqual([true, true]);
    await clock.advance(5000);
    expect(called).toEqual([]);
    hasRoom = true;
    await clock.advance(1000);
    expect(called).toEqual(["evil-1", "evil-2"]);
    expect(tryTake("evil-1", "evil")).toBe(true);
  });

  test("a caller that asks right now goes before those of its tenant that cannot come", async () => {
    const { clock, budget } = budgetOf(60, 1);
    const tryTake = (who: string) =>
      budget.tryTake(
        "write",
        who,
        () => {},
        "evil",
        () => false,
      );
    expect(["first", "a", "b"].map(tryTake)).toEqual([true, false, false]);
    await clock.advance(1000);
    expect(["b", "a"].map(tryTake)).toEqual([true, false]);
  });

  test("leaves no timer behind where it is dismissed", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    for (const who of ["first", "a", "b"]) tryTake(who);
    budget.dismiss();
    expect(clock.pending).toBe(0);
    await clock.advance(10_000);
    expect(called).toEqual([]);
  });

  test("a dismissed caller, waiting or called, holds nothing: later callers have the whole budget", async () => {
    const { clock, budget, called, tryTake } = line(60, 1);
    for (const who of ["first", "called", "waiting"]) tryTake(who);
    await clock.advance(1000);
    budget.dismiss();
    expect(tryTake("another")).toBe(true);
    await clock.advance(10_000);
    expect(called.map(({ who }) => who)).toEqual(["called"]);
  });
});
