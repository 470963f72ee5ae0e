import { expect, it } from "vitest";
import { barChart } from "../../../src/service/console/chart.ts";

it("the bars of a chart stand on its zero line, as high as their values, and reach to the top at most", () => {
  const bars = [0, 3, 6].map((value) => ({ label: `${value}`, value, words: `${value}` }));
  const chart = barChart({ title: "", summary: "", bars, counts: true }).toString();
  const numbers = (pattern: RegExp) => [...chart.matchAll(pattern)].map(([, ...found]) => found.map(Number));
  const [[zero = 0] = []] = numbers(/<line [^>]*y1="([\d.]+)"/g);
  const [, [y3 = 0, three = 0] = [], [y6 = 0, six = 0] = []] = numbers(
    /class="bar"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"/g,
  );
  expect([y3 + three, y6 + six, three * 2]).toEqual([zero, zero, six].map((length) => expect.closeTo(length)));
  const [[back = 0, height = 0] = []] = numbers(/class="back"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"/g);
  expect([back + height, y6 >= back]).toEqual([expect.closeTo(zero), true]);
});
