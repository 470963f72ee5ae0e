import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  computeUnitRangeProblem,
  computeUnitSizes,
  isComputeUnitSize,
  localFileCacheGB,
  maxConnections,
  maxPooledConnections,
  memoryGB,
  temporaryDiskGiB,
  vCPU,
} from "../../src/api/compute-units.ts";

const fixed = (cu: number) => ({ min: cu, max: cu });

describe("sizes", () => {
  it("sizes are 0.25, 0.5, every integer from 1 to 16, then every even integer to 56", () => {
    expect(computeUnitSizes).toEqual([
      0.25, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40,
      42, 44, 46, 48, 50, 52, 54, 56,
    ]);
  });

  test.each([0, -1, 0.1, 0.75, 1.5, 17, 19, 55, 57, 58, 64, Number.NaN])("a size of %s CU does not exist", (cu) => {
    expect(isComputeUnitSize(cu)).toBe(false);
  });

  test.each([
    { cu: 0.25, memory: 1, cache: 0.8 },
    { cu: 0.5, memory: 2, cache: 1.6 },
    { cu: 1, memory: 4, cache: 3.2 },
    { cu: 2, memory: 8, cache: 6.4 },
    { cu: 16, memory: 64, cache: 51.2 },
    { cu: 56, memory: 224, cache: 179.2 },
  ])("$cu CU has $memory GB of memory and $cache GB of local file cache", ({ cu, memory, cache }) => {
    expect(memoryGB(cu)).toBe(memory);
    expect(localFileCacheGB(cu)).toBe(cache);
  });

  it("a size has one vCPU and 4 GB of memory for each CU, and 80 % of that as cache", () => {
    for (const cu of computeUnitSizes) {
      expect(vCPU(cu)).toBe(cu);
      expect(memoryGB(cu)).toBe(4 * cu);
      expect(localFileCacheGB(cu)).toBeCloseTo(0.8 * 4 * cu, 10);
    }
  });
});

describe("max_connections", () => {
  const rows: [number, number][] = [
    [0.25, 112],
    [0.5, 225],
    [1, 450],
    [2, 901],
    [3, 1351],
    [4, 1802],
    [5, 2253],
    [6, 2703],
    [7, 3154],
    [8, 3604],
    ...computeUnitSizes.filter((cu) => cu >= 9).map((cu): [number, number] => [cu, 4000]),
  ];

  it("the table of max_connections has every size", () => {
    expect(rows.map(([cu]) => cu)).toEqual(computeUnitSizes);
  });

  test.each(rows)("max_connections of %s CU is %s", (cu, connections) => {
    expect(maxConnections(fixed(cu))).toBe(connections);
  });

  test.each([
    { min: 0.25, max: 2, connections: 901 },
    { min: 0.25, max: 8, connections: 901 },
    { min: 0.5, max: 8, connections: 1802 },
    { min: 1, max: 16, connections: 3604 },
    { min: 2, max: 16, connections: 4000 },
  ])("max_connections of $min to $max CU is $connections: both ends count", ({ min, max, connections }) => {
    expect(maxConnections({ min, max })).toBe(connections);
  });

  it("max_connections stays between 112 and 4000 and never falls when either end grows", () => {
    const size = fc.constantFrom(...computeUnitSizes.filter((cu) => cu <= 16));
    fc.assert(
      fc.property(fc.tuple(size, size), fc.tuple(size, size), (one, other) => {
        const min = Math.min(...one);
        const max = Math.max(...one);
        const larger = { min: Math.max(min, Math.min(...other)), max: Math.max(max, ...other) };
        expect(maxConnections({ min, max })).toBeGreaterThanOrEqual(112);
        expect(maxConnections(larger)).toBeGreaterThanOrEqual(maxConnections({ min, max }));
        expect(maxConnections(larger)).toBeLessThanOrEqual(4000);
      }),
    );
  });

  it("the pooler takes 10,000 users", () => {
    expect(maxPooledConnections).toBe(10_000);
  });
});

describe("ranges", () => {
  test.each([
    { min: 0.25, max: 0.25 },
    { min: 0.25, max: 16 },
    { min: 1, max: 2 },
    { min: 56, max: 56 },
    { min: 18, max: 18 },
  ])("$min to $max CU is allowed", (range) => {
    expect(computeUnitRangeProblem(range)).toBeUndefined();
  });

  test.each([
    { min: 17, max: 17, problem: /17 CU is not a compute size: allowed are 0\.25, 0\.5, 1 to 16/ },
    { min: 2, max: 1, problem: /minimum of 2 CU is larger than the maximum of 1 CU/ },
    { min: 16, max: 18, problem: /autoscaling ends at 16 CU/ },
    { min: 0.75, max: 2, problem: /0\.75 CU is not/ },
  ])("$min to $max CU is refused with what is allowed", ({ min, max, problem }) => {
    expect(computeUnitRangeProblem({ min, max })).toMatch(problem);
  });
});

test.each([
  { max: 0.25, disk: 20 },
  { max: 1, disk: 20 },
  { max: 2, disk: 30 },
  { max: 16, disk: 240 },
  { max: 56, disk: 840 },
])("a size of at most $max CU has $disk GiB for temporary files", ({ max, disk }) => {
  expect(temporaryDiskGiB({ min: 0.25, max })).toBe(disk);
});
