import { expect, it } from "vitest";
import { describeFigure, keeps, quantile } from "./figures.ts";

const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

it("takes quantiles by the nearest rank, whatever the order of the samples", () => {
  expect([quantile(hundred, 0.5), quantile(hundred, 0.9), quantile(hundred, 1), quantile([7], 0.5)]).toEqual([
    50, 90, 100, 7,
  ]);
});

it("says what was measured, and whether the median keeps its promise", () => {
  const figure = { name: "ADDED to create", unit: "ms", samples: hundred, below: 60 };
  expect(describeFigure(figure)).toBe(
    "ADDED to create: median 50.0 ms, p90 90.0, p95 95.0, max 100.0 (100 samples); to be below 60 ms",
  );
  expect([keeps(figure), keeps({ ...figure, below: 50 })]).toEqual([true, false]);
});
