import { describe, expect, test } from "vitest";
import { ListTiming } from "../../../src/operator/project/list-timing.ts";

const refreshMs = 60_000;
const never = Number.POSITIVE_INFINITY;

const refused = { kind: "forbidden", message: "no" } as const;
const unavailable = { kind: "unavailable", message: "no answer" } as const;

/** The times of lists of which the last began at 0. */
function begunAtZero(): ListTiming {
  const timing = new ListTiming(0);
  timing.begun(0);
  return timing;
}

describe("what a project's next list is for", () => {
  test("the next list is for the most urgent of what is waited for, until nobody waits any more", () => {
    const timing = begunAtZero();
    expect([timing.priority, timing.need]).toEqual(["refresh", "refresh"]);
    expect(timing.want(10, "follow")).toBe(true);
    expect(timing.want(20, "resolve")).toBe(true);
    expect(timing.want(30, "plan")).toBe(true);
    expect([timing.priority, timing.need]).toEqual(["resolve", "resolve"]);
    timing.met();
    expect([timing.priority, timing.need]).toEqual(["refresh", "refresh"]);
  });

  test("changes only where a later list or a more urgent one is wanted", () => {
    const timing = begunAtZero();
    expect(timing.want(10, "plan")).toBe(true);
    expect(timing.want(10, "plan")).toBe(false);
    expect(timing.want(5, "follow")).toBe(false);
    expect(timing.want(11, "follow")).toBe(true);
    expect(timing.want(5, "resolve")).toBe(true);
    expect(timing.nextAt(refreshMs, never)).toBe(1000);
  });

  test("the next list is a refresh again once the wanted list has begun, unless it fails", () => {
    const timing = begunAtZero();
    timing.want(10, "resolve");
    timing.begun(11);
    expect([timing.priority, timing.need]).toEqual(["refresh", "resolve"]);
    timing.failed(unavailable, 0);
    expect(timing.priority).toBe("resolve");
    timing.succeeded(0);
    expect(timing.priority).toBe("refresh");
  });
});

describe("when it begins", () => {
  test("a list begins an interval after the last, or just after what it is to show", () => {
    const timing = begunAtZero();
    expect(timing.nextAt(refreshMs, never)).toBe(refreshMs);
    timing.want(1200, "plan");
    expect(timing.nextAt(refreshMs, never)).toBe(1201);
    timing.want(2000, "plan");
    expect(timing.nextAt(refreshMs, never)).toBe(2001);
    timing.want(70_000, "plan");
    expect(timing.nextAt(refreshMs, never)).toBe(refreshMs);
  });

  test("a list begins after the very moment that it is to show", () => {
    const timing = begunAtZero();
    timing.want(5000, "plan");
    expect(timing.nextAt(refreshMs, never)).toBe(5001);
  });

  test("a list begins a second after the last at the earliest, whatever is wanted", () => {
    const timing = begunAtZero();
    for (let n = 0; n < 10; n += 1) {
      timing.want(n * 1000 + 1, "resolve");
      expect(timing.nextAt(refreshMs, never)).toBe((n + 1) * 1000);
      timing.begun((n + 1) * 1000);
    }
  });

  test("a list after failures begins at doubling distances, up to the interval or a minute", () => {
    const timing = begunAtZero();
    const distances = [120_000, 10_000].map((interval) => {
      timing.succeeded(0);
      return Array.from({ length: 8 }, () => {
        timing.failed(unavailable, 0);
        return timing.nextAt(interval, never);
      });
    });
    expect(distances).toEqual([
      [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000],
      [1000, 2000, 4000, 8000, 10_000, 10_000, 10_000, 10_000],
    ]);
  });

  test.each([
    [refreshMs, 40_000, 32_000],
    [refreshMs, 30_000, 25_000],
    [refreshMs, 10_000, 5000],
    // Sooner after the last one than before the loss, it would not help.
    [refreshMs, 9999, 32_000],
    [12_000, 9000, 7000],
  ])(
    "a list after failures also begins shortly before the project counts as not seen: interval %i, lost at %i",
    (interval, lostAt, at) => {
      const timing = begunAtZero();
      for (let n = 0; n < 6; n += 1) timing.failed(unavailable, 0);
      expect(timing.nextAt(interval, lostAt)).toBe(at);
    },
  );
});

describe("for how long the latest list counts", () => {
  test("a list counts for three refresh intervals, and for three minutes of failing lists at most", () => {
    const timing = new ListTiming(0);
    timing.succeeded(1000);
    expect(timing.lostAt(30_000)).toBe(91_000);
    for (const at of [20_000, 39_000]) timing.failed(unavailable, at);
    expect([timing.lostAt(30_000), timing.lostAt(600_000)]).toEqual([91_000, 200_000]);
    timing.succeeded(50_000);
    expect(timing.lostAt(600_000)).toBe(1_850_000);
  });

  test.each([
    [4999, 90_000],
    [5000, 5000],
  ])("a refusal counts once another, %i ms later, says the same: lost at %i", (later, lostAt) => {
    const timing = new ListTiming(0);
    timing.failed(refused, 0);
    expect(timing.lostAt(30_000)).toBe(90_000);
    timing.failed(refused, later);
    expect(timing.lostAt(30_000)).toBe(lostAt);
  });

  test("a refusal counts from its first, not from failures of another kind before", () => {
    const timing = new ListTiming(0);
    timing.failed(unavailable, 0);
    timing.failed(refused, 10_000);
    expect(timing.lostAt(30_000)).toBe(90_000);
    timing.failed(unavailable, 20_000);
    expect(timing.lostAt(600_000)).toBe(200_000);
  });

  test("a single failure after a list is not reported, a second one is", () => {
    const timing = new ListTiming(0);
    const failing = [];
    for (let n = 0; n < 2; n += 1) {
      timing.failed(unavailable, n);
      failing.push(timing.isFailing);
    }
    timing.succeeded(3);
    expect([...failing, timing.isFailing]).toEqual([false, true, false]);
  });
});
