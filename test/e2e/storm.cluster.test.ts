import { expect, it } from "vitest";
import { storm } from "../chaos/storm.ts";

it("30 Computes in a storm come to 30 endpoints, each of its own, and nobody else's is touched", async () => {
  const report = await storm({
    computes: 30,
    seconds: 40,
    settleSeconds: 120,
    seed: 1,
    progress: (line) => console.info(line),
  });
  console.info(report.figures);
  expect(report.complaints).toEqual([]);
  expect([report.declared, report.atService]).toEqual([30, 30]);
}, 300_000);
