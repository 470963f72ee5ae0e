import { expect, test } from "vitest";
import { ConnectionState } from "../../../src/operator/connection/connection-state.ts";
import { budgetOf } from "../../support/request-budget.ts";

function setUp() {
  const { clock, budget } = budgetOf(60, 1);
  const changes: [number, boolean][] = [];
  const state: ConnectionState = new ConnectionState({
    clock,
    budget,
    onChange: () => changes.push([clock.monotonic(), isPaused()]),
    isUsed: () => false,
  });
  const isPaused = () => state.shown.kind === "paused";
  return { clock, budget, state, isPaused, changes };
}

test("a pause of more than five seconds is reported when it begins, and when a request after it is answered", async () => {
  const { clock, budget, state, isPaused, changes } = setUp();
  expect(isPaused()).toBe(false);
  budget.closeFor(5001);
  await clock.advance(4000);
  budget.closeFor(3000);
  state.accepted();
  await clock.advance(60_000);
  expect(changes).toEqual([[0, true]]);
  state.accepted();
  state.accepted();
  expect(changes).toEqual([
    [0, true],
    [64_000, false],
  ]);
});

test("pauses that follow each other are one: in between, nothing was answered", async () => {
  const { clock, budget, isPaused, changes } = setUp();
  for (let n = 0; n < 12; n += 1) {
    budget.closeFor(300_000);
    await clock.advance(301_000);
  }
  budget.closeFor(1000);
  await clock.advance(1000);
  expect([isPaused(), changes]).toEqual([true, [[0, true]]]);
});

test("a shorter pause is not reported, unless it grows long", async () => {
  const { clock, budget, isPaused, changes } = setUp();
  budget.closeFor(4999);
  await clock.advance(10_000);
  expect([isPaused(), changes]).toEqual([false, []]);
  budget.closeFor(4000);
  await clock.advance(1000);
  budget.closeFor(20_000);
  await clock.advance(60_000);
  expect(changes).toEqual([[11_000, true]]);
});

test("a pause hides all but a refused key, and goes on where the answer is another pause or was never sent", async () => {
  const { clock, budget, state, isPaused } = setUp();
  budget.closeFor(6000);
  await clock.advance(6000);
  for (const kind of ["rateLimited", "superseded"] as const) state.failed({ kind, message: "later" });
  expect(isPaused()).toBe(true);
  budget.closeFor(60_000);
  for (let n = 0; n < 2; n += 1) {
    state.failed({ kind: "unauthorized", message: "revoked" });
    await clock.advance(5000);
  }
  expect(state.shown).toEqual({ kind: "unauthorized", message: "revoked" });
  await clock.advance(60_000);
  state.failed({ kind: "notFound", message: "no such project" });
  state.projectsShow({ kind: "forbidden", message: "no" }, undefined);
  expect(state.shown.kind).toBe("reachable");
});
