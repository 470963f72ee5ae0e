import { expect, test } from "vitest";
import { replaced } from "./docs.ts";
import { millionTable } from "./million.ts";
import { plotsOf, tables } from "./report.ts";
import type { Round } from "./round.ts";

function round(computes: number, settledMB: number, more: Partial<Round> = {}): Round {
  return {
    setting: { computes, projects: computes / 100, locks: false, limits: "raised" },
    subject: "operator",
    ready: computes,
    readyAfter: 1,
    kubectl: 1,
    calls: { "POST /projects/{p}/endpoints": computes },
    apiRequests: {},
    cpu: computes / 1000,
    rss: { idle: 90, peak: settledMB + 10, after: settledMB, settled: settledMB, charged: Number.NaN },
    toWrite: { p50: 0.1, p99: 0.2 },
    toStatus: { p50: 0.1, p99: 0.2 },
    settled: { calls: computes / 50, apiRequests: 6, cpu: 0.5 },
    change: 0.1,
    handOver: Number.NaN,
    longestTask: { creating: 0.02, resting: 0.01, starting: 0.03 },
    cold: { seconds: 1, calls: 10, peak: settledMB },
    ...more,
  };
}

test("a table shows medians where a program ran several times, and the ratio to the baseline", () => {
  const runs = [100, 300, 120].map((settled) => round(1000, settled));
  const text = tables([...runs, round(1000, 60, { subject: "baseline" })]);
  expect(text).toContain("| 1000 in 10 projects, no lock | operator, median of 3 | baseline | ratio |");
  expect(text).toContain("| RSS settled, MB | 120 | 60 | 2.00 |");
  expect(text).toContain("| hand-over: end of the leader to the write of a change, s | – | – | – |");
});

test("each setting has a table of its own, and two shards no ratio", () => {
  const locking = round(1000, 90, { setting: { computes: 1000, projects: 1, locks: true, limits: "public" } });
  const text = tables([round(200, 95, { subject: "two shards" }), locking]);
  expect(text).toContain("| 200 in 2 projects, no lock | two shards |\n");
  expect(text).toContain("| 1000 in one project, a locking service, public limits | operator |\n");
});

test("what a million would take follows the line through the smallest and the largest fleet", () => {
  const text = millionTable([round(1000, 110), round(200, 94), round(10_200, 294)]);
  expect(text).toContain("| RSS settled, MB | 90.0 | 20.0 | 250 | 31250 |".replace("31250", String(125 * 90 + 20_000)));
  expect(text).toContain("holds 8,000 Computes, so a million take 125 of them");
  expect(text).toContain("takes 29 keys of 700 requests a minute");
  expect(millionTable([round(1000, 110)])).toBe("");
});

test("a plot has a point for each size, the median of its rounds", () => {
  const settled = plotsOf([round(1000, 100), round(1000, 130), round(1000, 110), round(200, 90)]).find(
    ({ title }) => title === "RSS settled, MB",
  );
  expect(settled?.series).toEqual([
    {
      name: "operator",
      points: [
        [200, 90],
        [1000, 110],
      ],
    },
  ]);
});

test("the page keeps what stands around the markers", () => {
  expect(replaced("a\n<!-- x -->\nold\n<!-- /x -->\nb", "x", "new")).toBe("a\n<!-- x -->\n\nnew\n\n<!-- /x -->\nb");
  expect(() => replaced("a", "x", "new")).toThrow("<!-- x -->");
});
