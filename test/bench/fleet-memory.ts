import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { shareWithin } from "../../src/operator/objects/shared-values.ts";
import type { JsonObject } from "../simulation/api-server/objects.ts";
import { Clusters } from "../simulation/fleet/clusters.ts";
import { isReady } from "../support/is-ready.ts";
import type { Bench } from "./figures.ts";

const rounds = 3;
const projects = Array.from({ length: 10 }, (_, n) => ({ id: `project-${n}`, branches: [`br-${n}`] }));
const computesPerProject = 100;
const count = projects.length * computesPerProject;
/** What a fleet may cost: 5 % more for each Compute. */
const mostPercent = 5;
/** What a schedule with a window may cost, in bytes for each Compute that has them. */
const mostOfSchedule = 300;

/** No time in them begins or ends while a fleet is measured. */
const berlin = { timeZone: "Europe/Berlin" };
const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri"];
const office = {
  name: "office",
  ...berlin,
  days: weekdays,
  from: "08:00",
  to: "19:00",
  computeUnits: { min: 2, max: 8 },
};
const disruption = { windows: [{ ...berlin, days: ["Sun"], from: "02:00", to: "05:00" }] };

interface Fleet {
  fleet?: string;
  specOf: (n: number) => JsonObject;
}

const fleets = {
  without: { specOf: () => ({}) },
  former: { fleet: "prod", specOf: () => ({ adopt: { former: true } }) },
  scheduled: { specOf: () => ({ schedule: [office], disruption }) },
  ownHours: {
    specOf: (n) => ({ schedule: [{ ...office, from: timeOf(480 + (n % 300)), to: timeOf(840 + ((n * 7) % 500)) }] }),
  },
} satisfies Record<string, Fleet>;

/** The operator's heap for each settled Compute: with `--fleet` and `adopt.former`, with schedules, without either. */
export const fleetMemory: Bench = {
  name: "fleet-memory",
  measures: `the operator's heap for each of ${count} settled Computes: in a fleet that adopts what former ones made, with schedules and windows, and with neither`,
  async run(progress) {
    setFlagsFromString("--expose-gc");
    const growth: number[] = [];
    const shared: number[] = [];
    const own: number[] = [];
    // What the first fleet of a process leaves behind belongs to no Compute.
    await bytesPerCompute(fleets.former);
    for (let round = 0; round < rounds; round += 1) {
      const without = await bytesPerCompute(fleets.without);
      const former = await bytesPerCompute(fleets.former);
      const scheduled = await bytesPerCompute(fleets.scheduled);
      const ownHours = await bytesPerCompute(fleets.ownHours);
      growth.push((former / without - 1) * 100);
      shared.push(scheduled - without);
      own.push(ownHours - without);
      const all = [without, former, scheduled, ownHours].map((bytes) => Math.round(bytes)).join(", ");
      progress(`bytes for each Compute alone, in a fleet, with one schedule and window, with hours of its own: ${all}`);
    }
    return [
      { name: "growth of the heap for each Compute", unit: "%", samples: growth, below: mostPercent },
      { name: "a schedule and a window that all share", unit: "B", samples: shared, below: mostOfSchedule },
      { name: "a schedule of its own, with the data of the spec", unit: "B", samples: own },
    ];
  },
};

function timeOf(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
}

/** What the heap loses with the operator: cluster and service are in this process too. */
async function bytesPerCompute({ fleet, specOf }: Fleet): Promise<number> {
  await using world = new Clusters({ projects });
  const cluster = world.cluster({ fleet });
  for (const [index, { id, branches }] of projects.entries()) {
    for (let n = 0; n < computesPerProject; n += 1) {
      const [branchID] = branches;
      const spec = { projectID: id, branchID, type: "read_only", ...specOf(index * computesPerProject + n) };
      cluster.apply(`${id}-${n}`, spec);
    }
  }
  while (!cluster.computes().every(isReady)) await world.clock.advance(60_000);
  await world.clock.advance(120_000);
  world.host.calls.length = 0;
  cluster.server.store.compact();
  const withOperator = heap();
  await cluster.stop();
  world.host.calls.length = 0;
  // Timers that were cancelled leave the clock only when they would have gone off.
  await world.clock.advance(3_600_000);
  return (withOperator - heap()) / count;
}

/** The heap once all is collected, and the few thousand values that are shared are the same each time. */
function heap(): number {
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("the collector cannot be called");
  for (let n = 0; n < 2002; n += 1) shareWithin({ forgets: { others: `${n}` } });
  for (let n = 0; n < 3; n += 1) collect();
  return process.memoryUsage().heapUsed;
}
