import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createMetrics } from "../../src/operator/metrics/metrics.ts";
import { dashboard, digest, digestFile } from "./monitoring/dashboard.ts";
import { drawn, inUnit, type Line, nameOf } from "./monitoring/draw.ts";

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

test("the dashboard's rows are by who reads them", () => {
  const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
  expect(rows).toEqual([
    "Teams: computes and branches",
    "On call: the service, budgets and brakes",
    "Platform: the operator itself",
  ]);
});

describe("the dashboard's picture", () => {
  test("the dashboard's picture is of the dashboard as it is: npm run generate -- dashboard draws it again", () => {
    expect(readFileSync(digestFile, "utf8").trim()).toBe(digest());
  });

  const points = [0, 5, 10, 60].map((at) => [at, at * 2] as const);
  const lines = new Map<number, Line[]>(dashboard.panels.map(({ id }) => [id, [{ name: `line ${id} <&>`, points }]]));
  const picture = (from: typeof lines) => drawn({ panels: dashboard.panels, lines: from, start: 0, end: 60 });

  test("shows each panel with its lines", () => {
    const html = picture(lines);
    expect(dashboard.panels.filter(({ title }) => !html.includes(`<h2>${title}</h2>`))).toEqual([]);
    const graphs = dashboard.panels.filter(({ type }) => type === "timeseries");
    expect(graphs.filter(({ id }) => !html.includes(`line ${id} &lt;&amp;>`))).toEqual([]);
    // Where nothing was scraped for a while, nothing is drawn.
    expect(html.match(/<polyline/g)).toHaveLength(2 * graphs.length);
    expect(html).not.toContain("no data");
  });

  test("says where there is nothing to be shown", () => {
    const shown = dashboard.panels.filter(({ type }) => type !== "row");
    expect(picture(new Map()).match(/no data/g)).toHaveLength(shown.length);
  });

  test("names lines and values as Grafana does", () => {
    expect(nameOf("{{ kind }} {{result}} x", { kind: "compute", result: "ok" })).toBe("compute ok x");
    expect([inUnit(0.25, "s"), inUnit(2, "s"), inUnit(3 * 1024 * 1024, "bytes"), inUnit(0.125, "percentunit")]).toEqual(
      ["250 ms", "2 s", "3 MiB", "12.5%"],
    );
  });
});
