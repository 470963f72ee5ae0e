import { describe, expect, it } from "vitest";
import { complaintsOf, type Sample, slopePerHour } from "./figures.ts";

/**
 * An hour of samples, one every ten seconds: what is alive, and garbage that piles up and is collected every minute.
 */
function hour(aliveMB: (minutes: number) => number): Sample[] {
  return Array.from({ length: 360 }, (_, index) => {
    const minutes = (index + 1) / 6;
    const garbage = (index % 6) * 3;
    return { minutes, heapMB: aliveMB(minutes) + garbage, rssMB: 120 };
  });
}

const held = { descriptors: 31, handles: 9, watches: 5 };

describe("the figures of a soak", () => {
  it("call a heap flat that only fills up at first, whatever garbage lies on it", () => {
    const samples = hour((minutes) => 40 - 15 * Math.exp(-minutes));
    expect(Math.abs(slopePerHour(samples, "heapMB"))).toBeLessThan(0.5);
    expect(complaintsOf(samples, held, held)).toEqual([]);
  });

  it("find a leak of six megabytes an hour below the garbage", () => {
    const samples = hour((minutes) => 30 + minutes / 10);
    expect(slopePerHour(samples, "heapMB")).toBeCloseTo(6, 0);
    expect(complaintsOf(samples, held, held)).toEqual(["the heap grows by 6.0 MB an hour; 4 are allowed"]);
  });

  it("do not take a few minutes for a slope", () => {
    const samples = hour((minutes) => 30 + minutes).filter(({ minutes }) => minutes <= 5);
    expect(complaintsOf(samples, held, held)).toEqual([]);
  });

  it("do not take a connection that is kept for the next request for a leak", () => {
    const after = { ...held, descriptors: 33 };
    expect(
      complaintsOf(
        hour(() => 30),
        held,
        after,
      ),
    ).toEqual([]);
  });

  it.each([
    ["descriptors", { ...held, descriptors: 34 }, "31 descriptors at the start, 34 at the end"],
    ["handles", { ...held, handles: 10 }, "9 handles at the start, 10 at the end"],
    ["watches", { ...held, watches: 4 }, "5 watches at the start, 4 at the end"],
  ])("complain of %s that are not as many as before", (_what, after, complaint) => {
    expect(
      complaintsOf(
        hour(() => 30),
        held,
        after,
      ),
    ).toEqual([complaint]);
  });
});
