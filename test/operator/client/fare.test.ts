import { expect, test } from "vitest";
import { RequestBudget } from "../../../src/operator/client/budget.ts";
import { Fare } from "../../../src/operator/client/fare.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const { signal } = new AbortController();

function setUp(perMinute = 60, burst = 1) {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute, burst });
  const turns: string[] = [];
  const fare = (who: string) => new Fare(budget, who, () => turns.push(who));
  return { clock, budget, turns, fare };
}

test("a pass that finds the budget spent is called when it is its turn, and then sends without waiting", async () => {
  const { clock, turns, fare } = setUp();
  const first = fare("first");
  expect(first.affordable).toBe(true);
  expect(await first.take(signal, 0)).toBeUndefined();
  expect(fare("second").affordable).toBe(false);
  await clock.advance(1000);
  expect(turns).toEqual(["second"]);
  const again = fare("second");
  expect(again.affordable).toBe(true);
  expect(await again.take(signal, 0)).toBeUndefined();
});

test("a pass that was let in may go on: its further requests wait for no place in the line", async () => {
  const { clock, budget, fare } = setUp();
  const pass = fare("pass");
  expect(pass.affordable).toBe(true);
  await pass.take(signal, 0);
  expect(pass.affordable).toBe(true);
  const sent: string[] = [];
  void budget.take(signal).then(() => sent.push("another"));
  void pass.take(signal, 60_000).then(() => sent.push("pass"));
  await clock.advance(2000);
  expect(sent).toEqual(["pass", "another"]);
});

test("what a pass does not spend goes to others", () => {
  const { budget, fare } = setUp();
  const pass = fare("pass");
  expect([pass.affordable, budget.available]).toEqual([true, 0]);
  pass.end();
  expect(budget.available).toBe(1);
  pass.end();
  expect(budget.available).toBe(1);
});

test("a pause that the service asks for after a pass was let in holds for it too", async () => {
  const { budget, fare } = setUp();
  const pass = fare("pass");
  expect(pass.affordable).toBe(true);
  budget.closeFor(30_000);
  expect(await pass.take(signal, 5000)).toBe(30_000);
  expect(pass.closedForMs).toBe(30_000);
});
