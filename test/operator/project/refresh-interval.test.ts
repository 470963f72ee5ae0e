import { expect, test } from "vitest";
import { RefreshInterval } from "../../../src/operator/project/refresh-interval.ts";

function setUp() {
  const budget = { openMs: 0 };
  const changes: boolean[] = [];
  const interval: RefreshInterval = new RefreshInterval(
    () => 30_000,
    budget,
    () => changes.push(interval.isStretched),
  );
  const [a, b] = [{}, {}];
  return { budget, interval, changes, a, b };
}

test("the interval in force is the one asked for, and what lists wait for the budget besides", () => {
  const { budget, interval, a, b } = setUp();
  expect(interval.inForceMs).toBe(30_000);
  interval.due(a);
  budget.openMs = 4000;
  interval.due(b);
  budget.openMs = 10_000;
  expect(interval.inForceMs).toBe(40_000);
  interval.begun(a);
  expect(interval.inForceMs).toBe(40_000);
  interval.begun(b);
  expect(interval.inForceMs).toBe(36_000);
  interval.begun(a);
  expect(interval.inForceMs).toBe(30_000);
});

test("a list that is due and asked for again has waited since it was due first", () => {
  const { budget, interval, a } = setUp();
  interval.due(a);
  budget.openMs = 10_000;
  interval.due(a);
  expect(interval.inForceMs).toBe(40_000);
});

test("a stretched interval is reported as soon as a list begins so late, or another is due while one waits so long", () => {
  for (const late of ["begun", "due"] as const) {
    const { budget, interval, changes, a, b } = setUp();
    interval.due(a);
    budget.openMs = 15_001;
    interval[late](late === "begun" ? a : b);
    expect(changes).toEqual([true]);
  }
});

test("a list that nobody waits for any more stretches nothing", () => {
  const { budget, interval, a } = setUp();
  interval.due(a);
  interval.leave(a);
  budget.openMs = 100_000;
  expect(interval.inForceMs).toBe(30_000);
});

test("a stretched interval is reported from half an interval on, and taken back below a tenth", () => {
  const { budget, interval, changes, a } = setUp();
  const waited = (ms: number) => {
    interval.due(a);
    budget.openMs += ms;
    interval.begun(a);
  };
  waited(15_000);
  expect(changes).toEqual([]);
  for (const ms of [15_001, 3000, 16_000, 2999, 3001]) waited(ms);
  expect(changes).toEqual([true, false]);
});

test("nothing is late any more once no project is listed", () => {
  const { budget, interval, changes, a } = setUp();
  interval.due(a);
  budget.openMs = 20_000;
  interval.due(a);
  interval.reset();
  budget.openMs = 100_000;
  expect([interval.inForceMs, interval.isStretched, changes]).toEqual([30_000, false, [true, false]]);
});
