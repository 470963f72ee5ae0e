import { describe, expect, it } from "vitest";
import { scaleFor } from "../../../src/service/console/chart.ts";
import { project, Shop } from "../support/shop.ts";
import { Visitor } from "./visitor.ts";

describe("the scale of a chart", () => {
  it.each([
    [0, [0, 1]],
    [1, [0, 1]],
    [2, [0, 1, 2]],
    [3, [0, 1, 2, 3]],
    [7, [0, 2, 4, 6, 8]],
    [24, [0, 10, 20, 30]],
    [40, [0, 10, 20, 30, 40]],
    [101, [0, 50, 100, 150]],
  ])("the scale of counts up to %i has whole numbers only", (most, marks) => {
    expect(scaleFor(most, true)).toEqual(marks);
  });

  it.each([
    [0, [0, 0.5]],
    [0.04, [0, 0.01, 0.02, 0.03, 0.04]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [1, [0, 0.5, 1]],
    [12, [0, 5, 10, 15]],
  ])("the scale of hours up to %d reaches that far", (most, marks) => {
    expect(scaleFor(most, false)).toEqual(marks);
  });
});

describe("the page of a project", () => {
  it("draws the hours and the active computes of the last day, and says them in words", () => {
    const shop = new Shop();
    shop.active({ suspend_timeout_seconds: -1 });
    shop.time.pass(90 * 60_000);
    const { html } = new Visitor(shop.core).signIn("acc-ana").get(`/app/projects/${project}`);
    const charts = [...html.matchAll(/<svg.*?<\/svg>/gs)].map(([chart]) => chart);
    expect(charts.map((chart) => /aria-label="([^"]+)"/.exec(chart)?.[1])).toEqual([
      "1.5 CU hours in the last 24 hours",
      "At most 1 compute active at one time in the last 24 hours",
    ]);
    const bars = (chart = "") => [...chart.matchAll(/<title>([^<]+)<\/title>/g)].map(([, words]) => words);
    expect(bars(charts[0])).toHaveLength(24);
    expect(bars(charts[0]).slice(-2)).toEqual(["00:00: 1 CU hour", "01:00: 0.5 CU hours"]);
    expect(bars(charts[1]).slice(-3)).toEqual(["23:00: 0 computes", "00:00: 1 compute", "01:00: 1 compute"]);
    expect(charts.join("")).not.toContain("NaN");
  });

  it("draws an empty day without marks that are no numbers", () => {
    const { html } = new Visitor(new Shop().core).signIn("acc-ana").get(`/app/projects/${project}`);
    expect(html).toContain("0 CU hours in the last 24 hours");
    expect(html).not.toMatch(/NaN|Infinity/);
  });
});
