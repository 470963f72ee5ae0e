import { expect, it } from "vitest";
import { svgOf } from "./plot.ts";

it("draws a line for each program, larger values higher and further right", () => {
  const svg = svgOf([
    {
      title: "CPU, s",
      series: [
        {
          name: "operator",
          points: [
            [100, 1],
            [1000, 10],
            [10_000, 100],
          ],
        },
      ],
    },
  ]);
  const path = /polyline points="([^"]+)"/.exec(svg)?.[1] ?? "";
  const points = path.split(" ").map((point) => point.split(",").map(Number));
  const [first = [], second = [], third = []] = points;
  expect(points).toHaveLength(3);
  expect([second[0], third[0]].map(Number)).toEqual([second[0], third[0]].map(Number).toSorted((a, b) => a - b));
  expect(Number(first[1])).toBeGreaterThan(Number(second[1]));
  expect(Number(second[1])).toBeGreaterThan(Number(third[1]));
  expect(svg).toContain(">CPU, s</text>");
  expect(svg).toContain(">operator</text>");
});
