import { describe, expect, test } from "vitest";
import { Budgets } from "../../../src/operator/service-client/budgets.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const limits = { perMinute: 60, burst: 4 };
const { signal } = new AbortController();

function setUp() {
  const clock = new VirtualClock();
  const waits: number[] = [];
  return { clock, waits, budgets: new Budgets(clock, (seconds) => waits.push(seconds)) };
}

describe("connections with one key to one base URL", () => {
  test("connections draw from one budget, which reports how long each request waited", async () => {
    const { clock, budgets, waits } = setUp();
    const one = budgets.join("key", "one", { perMinute: 60, burst: 1 });
    expect(budgets.join("key", "other", limits)).toBe(one);
    expect(budgets.join("another key", "other", limits)).not.toBe(one);
    for (let n = 0; n < 2; n += 1) void one.take("write", signal, 0);
    await clock.advance(1000);
    expect(waits).toEqual([0, 1]);
  });

  test("connections have the lowest figures of all, until the connection with the lowest leaves", async () => {
    const { clock, budgets } = setUp();
    const budget = budgets.join("key", "one", limits);
    budgets.join("key", "modest", { perMinute: 30, burst: 2 });
    expect(budget.available).toBe(2);
    budgets.quit("key", "modest");
    await clock.advance(2000);
    expect(budget.available).toBe(4);
    budgets.quit("key", "a connection that never joined");
    budgets.quit("a key that nobody has", "one");
    expect(budget.available).toBe(4);
  });
});

test("a budget that was left goes on at its last figures where one comes back: what was spent stays spent", async () => {
  const { clock, budgets } = setUp();
  const budget = budgets.join("key", "one", limits);
  for (let n = 0; n < 4; n += 1) expect(budget.takeSpare()).toBe(true);
  budgets.quit("key", "one");
  await clock.advance(3999);
  const again = budgets.join("key", "one", limits);
  expect(again).toBe(budget);
  expect(again.available).toBe(3);
});

test("a budget that was left keeps a pause that the service asked for", async () => {
  const { clock, budgets } = setUp();
  const budget = budgets.join("key", "one", limits);
  budget.closeFor(60_000);
  budgets.quit("key", "one");
  await clock.advance(59_999);
  expect(budgets.join("key", "one", limits).closedForMs).toBe(1);
});

test("a budget that was left is forgotten once it is as good as new, and no other is", async () => {
  const { clock, budgets } = setUp();
  const [left, used] = [budgets.join("left", "one", limits), budgets.join("used", "one", limits)];
  left.takeSpare();
  budgets.quit("left", "one");
  await clock.advance(1000);
  expect(budgets.join("used", "one", limits)).toBe(used);
  expect(budgets.join("left", "one", limits)).not.toBe(left);
});

test("a budget that was left has nobody waiting and no timer after the end of a term", () => {
  const { clock, budgets } = setUp();
  const budget = budgets.join("key", "one", { perMinute: 60, burst: 1 });
  for (const who of ["first", "second"]) budget.tryTake("write", who, () => {});
  expect(clock.pending).toBe(1);
  budgets.dismiss();
  expect(clock.pending).toBe(0);
});
