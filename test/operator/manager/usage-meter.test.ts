import { describe, expect, test } from "vitest";
import type { Listing } from "../../../src/operator/connection/list-changes.ts";
import { UsageMeter } from "../../../src/operator/manager/state-metrics.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import { endpoint } from "../../support/builders.ts";

const minute = 60_000;

/** A list with one active compute of 2 CU, by the minutes in which it was begun and ended. */
function list(begun: number, ended = begun): Listing {
  const active = endpoint({ current_state: "active", autoscaling_limit_max_cu: 2 });
  return { endpoints: [active], startedAt: begun * minute, endedAt: ended * minute };
}

function metered() {
  const metrics = createMetrics();
  const meter = new UsageMeter(metrics);
  const hours = async () => Number(/compute_unit_hours_bound_total\{.*\} (.*)/.exec(await metrics.text())?.[1]);
  return { meter, hours };
}

describe("compute-unit hours", () => {
  test("are the size times the time between two lists that show the compute active", async () => {
    const { meter, hours } = metered();
    for (const listing of [list(0), list(30), list(60)]) meter.listed("shop", listing);
    expect(await hours()).toBe(2);
  });

  test("count no time twice where two connections list one project, and one list overtakes another", async () => {
    const { meter, hours } = metered();
    for (const listing of [list(0), list(40), list(30, 41), list(60)]) meter.listed("shop", listing);
    expect(await hours()).toBe(2);
  });
});
