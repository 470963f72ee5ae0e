import { expect, test } from "vitest";
import { ProjectVisibility } from "../../../src/operator/connection/project-visibility.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

function setUp() {
  const clock = new VirtualClock();
  const state = { intervalMs: 10_000, isUsed: true };
  const lostAt: number[] = [];
  const visibility = new ProjectVisibility({
    clock,
    signal: new AbortController().signal,
    intervalMs: () => state.intervalMs,
    isUsed: () => state.isUsed,
    onLost: () => lostAt.push(clock.monotonic()),
  });
  return { clock, state, visibility, lostAt };
}

test("the loss of a project that was never listed is reported once, three intervals after its first use", async () => {
  const { clock, visibility, lostAt } = setUp();
  visibility.start();
  visibility.start();
  await clock.advance(100_000);
  expect([visibility.isLost, lostAt, clock.pending]).toEqual([true, [30_000], 0]);
  expect([visibility.listed(), visibility.isLost, visibility.listed()]).toEqual([true, false, false]);
});

test("the loss is not reported before its time where the interval has become longer since", async () => {
  const { clock, state, visibility, lostAt } = setUp();
  visibility.start();
  state.intervalMs = 20_000;
  await clock.advance(100_000);
  expect(lostAt).toEqual([60_000]);
});

test("the loss of a project that nobody used for a while is reported to those who use it again", async () => {
  const { clock, state, visibility, lostAt } = setUp();
  visibility.start();
  state.isUsed = false;
  visibility.plan();
  expect(clock.pending).toBe(0);
  state.isUsed = true;
  visibility.start();
  await clock.advance(100_000);
  expect(lostAt).toEqual([30_000]);
});
