import { expect, test } from "vitest";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import { RequestReservation } from "../../../src/operator/service-client/request-reservation.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const { signal } = new AbortController();
const forever = Number.POSITIVE_INFINITY;

function setUp(perMinute = 60, burst = 1) {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute, burst });
  const turns: string[] = [];
  const reservation = (who: string) => new RequestReservation(budget, who, () => turns.push(who));
  return { clock, budget, turns, reservation };
}

test("a reconcile that finds the budget spent is called when it is its turn, and then sends without waiting", async () => {
  const { clock, turns, reservation } = setUp();
  const first = reservation("first");
  expect(first.tryTake("write")).toBe(true);
  expect(await first.take(signal, 0)).toBeUndefined();
  const second = reservation("second");
  expect(second.tryTake("write")).toBe(false);
  second.end();
  await clock.advance(1000);
  expect(turns).toEqual(["second"]);
  const again = reservation("second");
  expect(again.tryTake("write")).toBe(true);
  expect(await again.take(signal, 0)).toBeUndefined();
});

test("a reconcile that has begun may go on: its further requests come before all others", async () => {
  const { clock, budget, reservation } = setUp();
  const one = reservation("one");
  expect(one.tryTake("read")).toBe(true);
  await one.take(signal, 0);
  expect(one.tryTake("read")).toBe(true);
  const sent: unknown[] = [];
  const note = (who: string) => () => sent.push([who, clock.monotonic()]);
  void budget.take("plan", signal, forever).then(note("another"));
  void one.take(signal, 60_000).then(note("one"));
  void one.take(signal, 60_000).then(note("one"));
  await clock.advance(3000);
  expect(sent).toEqual([
    ["one", 1000],
    ["one", 2000],
    ["another", 3000],
  ]);
});

test("for a reconcile that was called and no longer wants to send nothing is kept", async () => {
  const { clock, turns, reservation } = setUp();
  reservation("first").tryTake("write");
  for (const who of ["second", "third"]) reservation(who).tryTake("write");
  await clock.advance(1000);
  reservation("second").end();
  expect(turns).toEqual(["second", "third"]);
});

test("a pause that the service asks for after a reconcile was let in holds for it too", async () => {
  const { budget, reservation } = setUp();
  const one = reservation("one");
  expect(one.tryTake("write")).toBe(true);
  budget.closeFor(30_000);
  expect(await one.take(signal, 5000)).toBe(30_000);
  expect(one.closedForMs).toBe(30_000);
});

test("a reconcile that never asked draws each request from the budget, and knows how long it would wait", async () => {
  const { clock, reservation } = setUp();
  const [one, other] = [reservation("one"), reservation("other")];
  await one.take(signal, 0);
  const sent: number[] = [];
  void one.take(signal, 0).then(() => sent.push(clock.monotonic()));
  other.tryTake("write");
  expect(other.waitMs).toBe(2000);
  await clock.advance(1000);
  expect(sent).toEqual([1000]);
});

test("reconciles that took a request and sent nothing leave the budget as it was, and others are called at once", async () => {
  const { budget, turns, reservation } = setUp(1, 3);
  const all = ["one", "two", "three"].map(reservation);
  expect(all.map((one) => one.tryTake("write"))).toEqual([true, true, true]);
  expect([reservation("waiting").tryTake("write"), budget.available]).toEqual([false, 0]);
  for (const one of all) one.end();
  expect(turns).toEqual(["waiting"]);
  expect(reservation("waiting").tryTake("write")).toBe(true);
  expect(budget.available).toBe(2);
  for (const one of all) one.end();
  expect(budget.available).toBe(2);
});

test("a reconcile that sent what it took gives nothing back", async () => {
  const { budget, reservation } = setUp(1, 3);
  const one = reservation("one");
  one.tryTake("write");
  await one.take(signal, 0);
  one.end();
  expect(budget.available).toBe(2);
});
