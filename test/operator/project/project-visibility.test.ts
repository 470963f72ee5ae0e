import { expect, test } from "vitest";
import { ProjectVisibility } from "../../../src/operator/project/project-visibility.ts";
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
  /** The moment of the loss at this refresh interval. */
  const lostAtBy = (intervalMs: number) => {
    state.intervalMs = intervalMs;
    return visibility.lostAt;
  };
  return { clock, state, visibility, lostAt, lostAtBy };
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

const refused = { kind: "forbidden", message: "no" } as const;
const unavailable = { kind: "unavailable", message: "no answer" } as const;

test("what was seen counts for three refresh intervals, and for three minutes of failing lists at most", async () => {
  const { clock, visibility, lostAtBy } = setUp();
  await clock.advance(1000);
  visibility.listed();
  expect(lostAtBy(30_000)).toBe(91_000);
  for (let n = 0; n < 2; n += 1) {
    await clock.advance(19_000);
    visibility.failed(unavailable);
  }
  expect([lostAtBy(30_000), lostAtBy(600_000)]).toEqual([91_000, 200_000]);
  await clock.advance(11_000);
  visibility.listed();
  expect(lostAtBy(600_000)).toBe(1_850_000);
});

test.each([
  [4999, 90_000],
  [5000, 5000],
])("a refusal counts once another, %i ms later, says the same: lost at %i", async (later, lostAt) => {
  const { clock, visibility, lostAtBy } = setUp();
  visibility.failed(refused);
  expect(lostAtBy(30_000)).toBe(90_000);
  await clock.advance(later);
  visibility.failed(refused);
  expect(lostAtBy(30_000)).toBe(lostAt);
});

test("a refusal counts from its first, not from failures of another kind before", async () => {
  const { clock, visibility, lostAtBy } = setUp();
  visibility.failed(unavailable);
  await clock.advance(10_000);
  visibility.failed(refused);
  expect(lostAtBy(30_000)).toBe(90_000);
  await clock.advance(10_000);
  visibility.failed(unavailable);
  expect(lostAtBy(600_000)).toBe(200_000);
});
