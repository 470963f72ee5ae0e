import { describe, expect, test } from "vitest";
import { ListDemand } from "../../../src/operator/project/list-demand.ts";

const refreshMs = 60_000;
const never = Number.POSITIVE_INFINITY;

/** A demand whose last list began at 0. */
function begunAtZero(): ListDemand {
  const demand = new ListDemand();
  demand.begin(0);
  return demand;
}

describe("what a project's next list is for", () => {
  test("the next list is for the most urgent of what is waited for, until nobody waits any more", () => {
    const demand = begunAtZero();
    expect([demand.priority, demand.need]).toEqual(["refresh", "refresh"]);
    expect(demand.want(10, "follow")).toBe(true);
    expect(demand.want(20, "resolve")).toBe(true);
    expect(demand.want(30, "plan")).toBe(true);
    expect([demand.priority, demand.need]).toEqual(["resolve", "resolve"]);
    demand.met();
    expect([demand.priority, demand.need]).toEqual(["refresh", "refresh"]);
  });

  test("changes only where a later list or a more urgent one is wanted", () => {
    const demand = begunAtZero();
    expect(demand.want(10, "plan")).toBe(true);
    expect(demand.want(10, "plan")).toBe(false);
    expect(demand.want(5, "follow")).toBe(false);
    expect(demand.want(11, "follow")).toBe(true);
    expect(demand.want(5, "resolve")).toBe(true);
    expect(demand.nextAt(refreshMs, never)).toBe(1000);
  });

  test("the next list is a refresh again once the wanted list has begun, unless it fails", () => {
    const demand = begunAtZero();
    demand.want(10, "resolve");
    demand.begin(11);
    expect([demand.priority, demand.need]).toEqual(["refresh", "resolve"]);
    demand.ended(false);
    expect(demand.priority).toBe("resolve");
    demand.ended(true);
    expect(demand.priority).toBe("refresh");
  });
});

describe("when it begins", () => {
  test("a list begins an interval after the last, or just after what it is to show", () => {
    const demand = begunAtZero();
    expect(demand.nextAt(refreshMs, never)).toBe(refreshMs);
    demand.want(1200, "plan");
    expect(demand.nextAt(refreshMs, never)).toBe(1201);
    demand.want(2000, "plan");
    expect(demand.nextAt(refreshMs, never)).toBe(2001);
    demand.want(70_000, "plan");
    expect(demand.nextAt(refreshMs, never)).toBe(refreshMs);
  });

  test("a list begins after the very moment that it is to show", () => {
    const demand = begunAtZero();
    demand.want(5000, "plan");
    expect(demand.nextAt(refreshMs, never)).toBe(5001);
  });

  test("a list begins a second after the last at the earliest, whatever is wanted", () => {
    const demand = begunAtZero();
    for (let n = 0; n < 10; n += 1) {
      demand.want(n * 1000 + 1, "resolve");
      expect(demand.nextAt(refreshMs, never)).toBe((n + 1) * 1000);
      demand.begin((n + 1) * 1000);
    }
  });

  test("a list after failures begins at doubling distances, up to the interval or a minute", () => {
    const demand = begunAtZero();
    const distances = [120_000, 10_000].map((interval) => {
      demand.ended(true);
      return Array.from({ length: 8 }, () => {
        demand.ended(false);
        return demand.nextAt(interval, never);
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
      const demand = begunAtZero();
      for (let n = 0; n < 6; n += 1) demand.ended(false);
      expect(demand.nextAt(interval, lostAt)).toBe(at);
    },
  );
});
