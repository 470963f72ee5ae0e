import { expect, test } from "vitest";
import { UsageMeter } from "../../../src/operator/manager/state-metrics.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import type { Listing } from "../../../src/operator/project/list-changes.ts";
import { endpoint } from "../../support/builders.ts";

const minute = 60_000;

/** A list with one active compute of 2 CU, by the minutes in which it was begun and ended. */
function list(begun: number, ended = begun): Listing {
  const active = endpoint({ current_state: "active", autoscaling_limit_max_cu: 2 });
  return { endpoints: [active], startedAt: begun * minute, endedAt: ended * minute };
}

function metered() {
  const metrics = createMetrics();
  const meter = new UsageMeter(metrics, (_, __, id) => (id === "ep-one" ? "shop" : "none"));
  const listed = (listing: Listing) => meter.listed("stock", listing, "https://service.test");
  const series = async () =>
    (await metrics.text())
      .split("\n")
      .filter((line) => line.startsWith("compute_operator_compute_unit_hours_bound_total{"));
  const hours = async () => Number((await series())[0]?.split(" ")[1]);
  return { meter, listed, series, hours };
}

test("compute-unit hours are the size times the time between two lists that show the compute active", async () => {
  const { listed, hours } = metered();
  for (const listing of [list(0), list(30), list(60)]) listed(listing);
  expect(await hours()).toBe(2);
});

test("compute-unit hours are counted by namespace and project, and none where no Compute keeps the endpoint", async () => {
  const { listed, series } = metered();
  const both = (at: number): Listing => ({
    ...list(at),
    endpoints: [
      ...list(at).endpoints,
      endpoint({ id: "ep-two", current_state: "active", autoscaling_limit_max_cu: 4 }),
    ],
  });
  for (const at of [0, 60]) listed(both(at));
  expect((await series()).toSorted()).toEqual([
    'compute_operator_compute_unit_hours_bound_total{namespace="none",project="stock"} 4',
    'compute_operator_compute_unit_hours_bound_total{namespace="shop",project="stock"} 2',
  ]);
});

test("two services that have a project of the same id are counted apart", async () => {
  const { meter, hours } = metered();
  for (const at of [0, 30, 60]) {
    meter.listed("stock", list(at), "https://service.test");
    meter.listed("stock", { ...list(at), endpoints: [] }, "https://another.test");
  }
  expect(await hours()).toBe(2);
});

test("a forgotten project makes room for a new one, and one that was not forgotten does not", async () => {
  const { meter, series } = metered();
  const use = (project: string, baseURL: string) => {
    for (const at of [0, 60]) meter.listed(project, list(at), baseURL);
  };
  const projects = async () => (await series()).map((line) => line.replace(/.*project="(.*)".*/, "$1")).toSorted();
  for (let n = 0; n < 64; n += 1) use(`preview-${n}`, "https://service.test");
  use("preview-0", "https://another.test");
  meter.forget("preview-0", "https://service.test");
  use("new", "https://service.test");
  expect(await projects()).toContain("other");
  expect(await projects()).not.toContain("new");
  meter.forget("preview-0", "https://another.test");
  use("newest", "https://service.test");
  expect(await projects()).toContain("newest");
  expect(await projects()).not.toContain("preview-0");
});

test.each(["idle", "init", undefined])("a compute that either list shows as %s has no hours", async (current_state) => {
  const other = (at: number): Listing => ({
    ...list(at),
    endpoints: [endpoint({ current_state, autoscaling_limit_max_cu: 2 })],
  });
  const { listed, series } = metered();
  for (const listing of [list(0), other(30), list(60)]) listed(listing);
  expect(await series()).toEqual([]);
});

test("a compute whose size the service does not show has no hours", async () => {
  const { listed, hours } = metered();
  const sizeless = (at: number) => ({ ...list(at), endpoints: [endpoint({ current_state: "active" })] });
  for (const at of [0, 60]) listed(sizeless(at));
  expect(await hours()).toBe(0);
});

test("compute-unit hours count no time twice where two connections list one project, and one list overtakes another", async () => {
  const { listed, hours } = metered();
  for (const listing of [list(0), list(40), list(30, 41), list(60)]) listed(listing);
  expect(await hours()).toBe(2);
});
