import { expect, test } from "vitest";
import { Pause } from "../../../src/operator/connection/pause.ts";
import { budgetOf } from "../../support/request-budget.ts";

function setUp() {
  const { clock, budget } = budgetOf(60, 1);
  const changes: [number, boolean][] = [];
  const pause: Pause = new Pause(budget, () => changes.push([clock.monotonic(), pause.isOn]));
  return { clock, budget, pause, changes };
}

test("a pause of more than five seconds is reported when it begins, and when a request after it is answered", async () => {
  const { clock, budget, pause, changes } = setUp();
  expect(pause.isOn).toBe(false);
  budget.closeFor(5001);
  await clock.advance(4000);
  budget.closeFor(3000);
  pause.answered();
  await clock.advance(60_000);
  expect(changes).toEqual([[0, true]]);
  pause.answered();
  pause.answered();
  expect(changes).toEqual([
    [0, true],
    [64_000, false],
  ]);
});

test("pauses that follow each other are one: in between, nothing was answered", async () => {
  const { clock, budget, pause, changes } = setUp();
  for (let n = 0; n < 12; n += 1) {
    budget.closeFor(300_000);
    await clock.advance(301_000);
  }
  budget.closeFor(1000);
  await clock.advance(1000);
  expect([pause.isOn, changes]).toEqual([true, [[0, true]]]);
});

test("a shorter pause is not reported, unless it grows long", async () => {
  const { clock, budget, pause, changes } = setUp();
  budget.closeFor(4999);
  await clock.advance(10_000);
  expect([pause.isOn, changes]).toEqual([false, []]);
  budget.closeFor(4000);
  await clock.advance(1000);
  budget.closeFor(20_000);
  await clock.advance(60_000);
  expect(changes).toEqual([[11_000, true]]);
});

test("a listener that was removed receives nothing", async () => {
  const { clock, budget, pause, changes } = setUp();
  pause.stop();
  budget.closeFor(60_000);
  await clock.advance(120_000);
  expect(changes).toEqual([]);
});
