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
    createSettleSeconds: 20,
    longestHeldSeconds: 10,
    refreshInterval: "5s",
    settleSeconds: 120,
    quietSeconds: 11,
    seed: 1,
    progress: (line) => lines.push(line),
  }).catch((error: unknown) => {
    throw new Error(["the storm broke off:", ...lines].join("\n"), { cause: error });
  });
  const { figures } = report;
  console.info([...lines, ...report.histories].join("\n"), figures);
  expect(figures).toMatchObject({ "API server": 1, etcd: 1, history: 1, service: 1, leader: 1, standby: 1 });
  expect(figures["operators killed"]).toBeGreaterThan(2);
  expect(figures["held creates"]).toBeGreaterThan(0);
  expect(figures["writes without a reply"]).toBeGreaterThanOrEqual(3);
  expect(report.complaints).toEqual([]);
  expect([report.declared, report.atService]).toEqual([30, 30]);
}, 600_000);
