import { describe, expect, it } from "vitest";
import { chartValues, valuesOfSchema } from "../../scripts/chart-values.ts";
import { chartCases } from "./chart-cases.ts";

describe("every value of the chart", () => {
  const paths = chartValues().map(({ path }) => path);

  it("is in values.yaml and in its schema, in the same order", () => {
    expect(paths).toEqual(valuesOfSchema());
  });

  it("has a case that shows what it changes", () => {
    expect(Object.keys(chartCases)).toEqual(paths);
  });

  it.each(chartValues())("$path is described by a sentence", ({ description }) => {
    expect(description).toMatch(/^\S.*\.$/);
  });
});
