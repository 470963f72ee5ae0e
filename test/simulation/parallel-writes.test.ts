import { describe, expect, it } from "vitest";
import type { StoredEndpoint } from "../../src/service/store/endpoints.ts";
import type { Timed } from "./world/actions.ts";
import { noFaults, type Rates } from "./world/fault-plan.ts";
import type { Violation } from "./world/records.ts";
import { play } from "./world/run.ts";
import type { Lock } from "./world/service-host.ts";

const project = "shiny-wind-000001";
const branchID = "br-one-1";

/** Declares these at once; returns what was broken, how many writes were under way at most, and what was made. */
async function declare(types: readonly string[], lock: Lock, service: Partial<Rates["service"]> = {}) {
  const actions = types.map((type, n): Timed => {
    const spec = { projectID: project, branchID, type, scaleToZero: { enabled: false } };
    return { atMs: 2000, action: { do: "apply", name: `c-${n}`, spec } };
  });
  const rates = { ...noFaults, service: { ...noFaults.service, ...service }, slowestMs: 200, mostLagMs: 8000 };
  let made: StoredEndpoint[] = [];
  let atOnce = 0;
  const { violations } = await play(
    { seed: 3, operators: 1, rates, actions, lock, calmAtMs: 240_000 },
    {
      onEnd: (world) => {
        made = world.host.endpoints(project).filter((endpoint) => endpoint.branchId === branchID);
        const { writes } = world.promises;
        const underWay = writes.map(
          ({ sentAt }) =>
            writes.filter((other) => other.sentAt <= sentAt && (other.endedAt ?? Number.POSITIVE_INFINITY) > sentAt)
              .length,
        );
        atOnce = Math.max(...underWay);
      },
    },
  );
  return { violations, made, atOnce };
}

const none: readonly Violation[] = [];
const replicas = Array.from({ length: 100 }, () => "read_only");

describe("writes in parallel", () => {
  it.each<Lock>(["project", "endpoint", 0.3])(
    "two primaries of one branch that are declared at once make one (lock: %s)",
    { timeout: 60_000 },
    async (lock) => {
      const { violations, made } = await declare(["read_write", "read_write"], lock);
      expect([violations, made.length]).toEqual([none, 1]);
    },
  );

  it("make each of 100 replicas once, though every fifth reply is lost", { timeout: 120_000 }, async () => {
    const { violations, made, atOnce } = await declare(replicas, "endpoint", { lost: 0.2 });
    expect([violations, made.length]).toEqual([none, 100]);
    expect(atOnce).toBeGreaterThan(1);
  });

  it("make each of 100 replicas once where lists lag behind their answers", { timeout: 120_000 }, async () => {
    const { violations, made, atOnce } = await declare(replicas, "endpoint", { lag: 0.9 });
    expect([violations, made.length]).toEqual([none, 100]);
    expect(atOnce).toBeGreaterThan(1);
  });
});
