import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createMetrics } from "../../src/operator/runtime/metrics.ts";

const dashboardSchema = z.object({
  panels: z.array(
    z.object({
      id: z.int(),
      type: z.string(),
      title: z.string(),
      description: z.string().optional(),
      gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).optional(),
    }),
  ),
});
const dashboard = dashboardSchema.parse(JSON.parse(readFileSync("deploy/monitoring/dashboard.json", "utf8")));
const rules = readFileSync("deploy/monitoring/prometheus-rule.yaml", "utf8");
const expressions = dashboard.panels.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));

/** Names as a scrape has them: of a histogram its bucket, sum and count. */
const scrape = await createMetrics().text();
const known = new Map([...scrape.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => [name, type]));

function isKnown(name: string): boolean {
  return known.has(name) || known.get(name.replace(/_(bucket|sum|count)$/, "")) === "histogram";
}

const namesIn = (text: string): string[] => [...text.matchAll(/\bcompute_operator_\w+/g)].map(([name]) => name);

describe("what watches the operator", () => {
  test.each([
    ["dashboard", expressions.join("\n")],
    ["alerts", rules],
  ])("asks only for metrics that the operator has: %s", (_, text) => {
    expect(namesIn(text).length).toBeGreaterThan(10);
    expect(namesIn(text).filter((name) => !isKnown(name))).toEqual([]);
  });

  test("shows every metric of the operator on the dashboard", () => {
    const shown = new Set(namesIn(expressions.join("\n")).map((name) => name.replace(/_bucket$/, "")));
    const hidden = [...known.keys()].filter((name) => !shown.has(name));
    expect(hidden).toEqual(["compute_operator_relists_total"]);
  });

  test("explains each panel, and none lies upon another", () => {
    const panels = dashboard.panels.filter(({ type }) => type !== "row");
    expect(panels.filter(({ description }) => !description?.endsWith("."))).toEqual([]);
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});
