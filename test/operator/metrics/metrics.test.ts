import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";

/** From the table of public names: what dashboards and alerts are written against. */
const published = [
  "reconcile_total",
  "reconcile_duration_seconds",
  "queue_depth",
  "queue_latency_seconds",
  "service_requests_total",
  "service_request_duration_seconds",
  "request_budget_available",
  "endpoint_list_age_seconds",
  "computes",
  "deletes_held",
  "branches",
  "branches_ending",
  "branch_leases_late",
  "branch_names_ending",
  "branch_deletes_held",
  "drift_corrections_total",
  "changes_waiting",
  "operations_total",
  "watch_restarts_total",
  "guard_stops_total",
  "leader",
  "event_loop_delay_seconds",
];

test("every published metric is there, with its help, before anything has happened", async () => {
  const text = await createMetrics().text();
  for (const name of published) expect(text).toMatch(new RegExp(`^# HELP compute_operator_${name} \\S`, "m"));
});

test("what is counted, set and observed shows under its labels", async () => {
  const metrics = createMetrics();
  metrics.reconciles.add({ kind: "Compute", result: "settled" });
  metrics.reconciles.add({ kind: "Compute", result: "settled" }, 2);
  metrics.reconcileSeconds.observe({ kind: "Compute" }, 0.02);
  metrics.leader.set({}, 1);
  const text = await metrics.text();
  expect(text).toContain('compute_operator_reconcile_total{kind="Compute",result="settled"} 3');
  expect(text).toContain('compute_operator_reconcile_duration_seconds_bucket{le="0.025",kind="Compute"} 1');
  expect(text).toContain("compute_operator_leader 1");
});

test("gauges that are computed are computed at each scrape, and forget what is gone", async () => {
  const metrics = createMetrics();
  let state = "Active";
  metrics.beforeScrape(() => {
    metrics.computes.reset();
    metrics.computes.set({ namespace: "shop", state, ready: "True" }, 1);
  });
  expect(await metrics.text()).toContain('compute_operator_computes{namespace="shop",state="Active",ready="True"} 1');
  state = "Idle";
  const text = await metrics.text();
  expect(text).toContain('compute_operator_computes{namespace="shop",state="Idle",ready="True"} 1');
  expect(text).not.toContain('state="Active"');
});

test("a service that makes up ever new values cannot flood the monitoring", async () => {
  const metrics = createMetrics();
  for (let n = 0; n < 10_000; n += 1)
    metrics.operations.add({ namespace: "shop", action: `made_up_${n}`, outcome: "x".repeat(1000) });
  const series = (await metrics.text())
    .split("\n")
    .filter((line) => line.startsWith("compute_operator_operations_total{"));
  expect(series.length).toBeLessThanOrEqual(65);
  expect(series.join("")).toContain('action="other"');
  expect(series[0]?.length).toBeLessThan(200);
});

test("a gauge that is recounted shows the projects of now, however many there ever were", async () => {
  const metrics = createMetrics();
  for (let day = 0; day < 64; day += 1) {
    metrics.endpointListAge.reset();
    metrics.endpointListAge.set({ project: `preview-${day}` }, 1);
  }
  metrics.endpointListAge.reset();
  metrics.endpointListAge.set({ project: "production" }, 7);
  expect(await metrics.text()).toContain('endpoint_list_age_seconds{project="production"} 7');
});

test("projects that are shown together as other, and two lists of one project, show the worst", async () => {
  const metrics = createMetrics();
  for (let n = 0; n < 100; n += 1) {
    metrics.endpointListAge.set({ project: `shop-${n}` }, n === 80 ? 900 : 5);
    metrics.budgetAvailable.set({ account: `account-${n}` }, n === 80 ? 0 : 40);
  }
  for (const age of [3, 700, 4]) metrics.endpointListAge.set({ project: "shop-1" }, age);
  const text = await metrics.text();
  expect(text).toContain('endpoint_list_age_seconds{project="other"} 900');
  expect(text).toContain('request_budget_available{account="other"} 0');
  expect(text).toContain('endpoint_list_age_seconds{project="shop-1"} 700');
  metrics.endpointListAge.reset();
  metrics.endpointListAge.set({ project: "shop-1" }, 2);
  expect(await metrics.text()).toContain('endpoint_list_age_seconds{project="shop-1"} 2');
});

test("the delay of the event loop shows the longest task since the scrape before", async () => {
  const metrics = createMetrics({ processMetrics: true });
  const longest = async () =>
    Number(/event_loop_delay_seconds\{statistic="max"\} (\S+)/.exec(await metrics.text())?.[1]);
  // Some samples, or the task would come before the first.
  await sleep(50);
  const end = performance.now() + 200;
  while (performance.now() < end) {
    // Nothing else runs.
  }
  await sleep(50);
  expect(await longest()).toBeGreaterThan(0.15);
});
