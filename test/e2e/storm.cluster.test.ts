import { expect, it } from "vitest";
import { storm } from "../chaos/storm.ts";

it("30 Computes in a storm come to 30 endpoints, each its own Compute's, and nobody else's is touched", async () => {
  const lines: string[] = [];
  const report = await storm({
    computes: 30,
    seconds: 30,
    rounds: 1,
    serviceGoneSeconds: 4,
    longestLifeSeconds: 8,
    deedsPerSecond: 6,
    createSettleSeconds: 12,
    refreshInterval: "5s",
    settleSeconds: 120,
    quietSeconds: 11,
    seed: 1,
    progress: (line) => lines.push(line),
  });
  console.info([...lines, ...report.histories].join("\n"), report.figures);
  expect(report.complaints).toEqual([]);
  expect([report.declared, report.atService]).toEqual([30, 30]);
}, 600_000);
