import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Clusters } from "../simulation/fleet/clusters.ts";
import { isReady } from "../support/is-ready.ts";
import type { Bench } from "./figures.ts";

const rounds = 3;
const projects = Array.from({ length: 10 }, (_, n) => ({ id: `project-${n}`, branches: [`br-${n}`] }));
const computesPerProject = 100;
const count = projects.length * computesPerProject;
/** What a fleet may cost: 5 % more for each Compute. */
const mostPercent = 5;

/** The operator's heap for each Compute of a settled fleet, with `--fleet` and `adopt.former`, and without. */
export const fleetMemory: Bench = {
  name: "fleet-memory",
  measures: `the operator's heap for each of ${count} settled Computes, in a fleet that adopts what former ones made`,
  async run(progress) {
    setFlagsFromString("--expose-gc");
    const growth: number[] = [];
    // What the first fleet of a process leaves behind belongs to no Compute.
    await bytesPerCompute("prod");
    for (let round = 0; round < rounds; round += 1) {
      const without = await bytesPerCompute(undefined);
      const within = await bytesPerCompute("prod");
      growth.push((within / without - 1) * 100);
      progress(`${Math.round(without)} bytes for each Compute without a fleet, ${Math.round(within)} in one`);
    }
    return [{ name: "growth of the heap for each Compute", unit: "%", samples: growth, below: mostPercent }];
  },
};

/** What the heap loses with the operator: cluster and service are in this process too. */
async function bytesPerCompute(fleet: string | undefined): Promise<number> {
  await using world = new Clusters({ projects });
  const cluster = world.cluster({ fleet });
  for (const { id, branches } of projects) {
    for (let n = 0; n < computesPerProject; n += 1) {
      const [branchID] = branches;
      const adopt = fleet === undefined ? {} : { adopt: { former: true } };
      cluster.apply(`${id}-${n}`, { projectID: id, branchID, type: "read_only", ...adopt });
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

function heap(): number {
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("the collector cannot be called");
  for (let n = 0; n < 3; n += 1) collect();
  return process.memoryUsage().heapUsed;
}
