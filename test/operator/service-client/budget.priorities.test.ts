import { describe, expect, test } from "vitest";
import type { Priority } from "../../../src/operator/service-client/priority.ts";
import { budgetOf } from "../../support/request-budget.ts";

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
    expect(sent["write"]).toBe(1900);
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

  test("tenants take turns, however many callers each has", async () => {
    const { clock, budget } = budgetOf(60, 1);
    const sent: string[] = [];
    for (const who of ["first", "a1", "a2", "a3", "b1", "c1"]) {
      const ask = () => {
        if (budget.tryTake("write", who, ask, who.slice(0, 1))) sent.push(who);
      };
      ask();
    }
    await clock.advance(6000);
    expect(sent).toEqual(["first", "a1", "b1", "c1", "a2", "a3"]);
  });

  test("tenants take turns whatever their priorities: one's writes leave another's lists every second request", async () => {
    const { clock, budget } = budgetOf(60, 1);
    const sent: string[] = [];
    const asks: [string, Priority][] = [
      ["first", "write"],
      ...["a1", "a2", "a3"].map((who): [string, Priority] => [who, "write"]),
      ["b1", "refresh"],
      ["b2", "plan"],
      ["c1", "resolve"],
    ];
    for (const [who, priority] of asks) {
      const ask = () => {
        if (budget.tryTake(priority, who, ask, who.slice(0, 1))) sent.push(who);
      };
      ask();
    }
    await clock.advance(6000);
    expect(sent).toEqual(["first", "a1", "b2", "c1", "a2", "b1", "a3"]);
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
    for (const who of ["c", "a", "b"]) {
      expect(tryTake(who, "refresh")).toBe(true);
      await clock.advance(1000);
    }
    expect(tryTake("d", "refresh")).toBe(true);
    expect(called).toEqual(["c", "a", "b"]);
  });

  test("what was sent while nobody else waited counts for nobody: the first of many writes goes before a list", async () => {
    const { clock, budget } = budgetOf(60, 1);
    const called: string[] = [];
    const tryTake = (who: string, priority: Priority) => budget.tryTake(priority, who, () => called.push(who));
    for (let n = 0; n < 19; n += 1) {
      expect(tryTake("one after another", "write")).toBe(true);
      await clock.advance(1000);
    }
    tryTake("the last", "write");
    tryTake("a list", "refresh");
    tryTake("a write", "write");
    await clock.advance(1000);
    expect(called).toEqual(["a write"]);
  });
});
