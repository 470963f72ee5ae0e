import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { chartValues, valuesOfSchema } from "../../scripts/chart-values.ts";
import { parseRunFlags, runSyntax } from "../../src/operator/flags.ts";
import { chartCases } from "./chart-cases.ts";

const alerts = z.object({ disabled: z.object({ items: z.object({ enum: z.array(z.string()) }) }) });
const schema = z.object({
  properties: z.object({ prometheusRule: z.object({ properties: alerts }) }),
});

describe("every value of the chart", () => {
  const paths = chartValues().map(({ path }) => path);

  it("the values are in values.yaml and in its schema, in the same order", () => {
    expect(paths).toEqual(valuesOfSchema());
  });

  it("each value has a case that shows what it changes", () => {
    expect(Object.keys(chartCases)).toEqual(paths);
  });

  it("names every alert among those that can be left out", () => {
    const rules = readFileSync("deploy/monitoring/prometheus-rule.yaml", "utf8");
    const { disabled } = schema.parse(
      JSON.parse(readFileSync("deploy/helm/compute-operator/values.schema.json", "utf8")),
    ).properties.prometheusRule.properties;
    expect(disabled.items.enum).toEqual([...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name));
  });

  it.each(chartValues())("$path is described by a sentence", ({ description }) => {
    expect(description).toMatch(/^\S.*\.$/);
  });
});

it("each flag of run has a value of the chart, but those that a pod of a cluster leaves at their default", () => {
  const template = readFileSync("deploy/helm/compute-operator/templates/deployment.yaml", "utf8");
  const without = runSyntax.options.filter(({ long = "" }) => !new RegExp(`${long}[= \\n]`).test(template));
  expect(without.map(({ long }) => long)).toEqual([
    "--kubeconfig",
    "--leader-elect",
    "--lease-namespace",
    "--cluster-resource-namespace",
    "--http-port",
  ]);
});

it("operator.createSettle takes what --create-settle takes, days included", () => {
  const text = readFileSync("deploy/helm/compute-operator/values.schema.json", "utf8");
  const pattern = new RegExp(/"createSettle": \{\s+"type": "string",\s+"pattern": "([^"]+)"/.exec(text)?.[1] ?? "none");
  for (const value of ["60s", "1h30m", "1d"]) {
    expect(pattern.test(value)).toBe(true);
    expect(parseRunFlags(["--create-settle", value]).createSettleMs).toBeGreaterThan(0);
  }
  expect(["60", "1w", "soon"].filter((value) => pattern.test(value))).toEqual([]);
});
