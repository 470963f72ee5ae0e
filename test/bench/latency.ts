import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { startWithCrds } from "../control-plane/crds.ts";
import { compute } from "../e2e/manifests.ts";
import { World } from "../e2e/world.ts";
import { eventually } from "../support/eventually.ts";
import type { Bench } from "./figures.ts";
import { WatchedComputes } from "./watched-computes.ts";

const computes = 50;
const atOnce = 20;
const behind = 10;
/** After this long the operator knows that the last operation of a compute that is ready is over, in milliseconds. */
const restMs = 700;

const newest = z.object({ operations: z.array(z.object({ updated_at: z.string() })) });

/** How fast the operator is where nothing else is going on: all as separate processes, one Compute after another. */
export const latency: Bench = {
  name: "latency",
  measures: `${computes} Computes, each in a project at rest, seen by an independent watch and by the service`,
  async run(progress) {
    await using controlPlane = await startWithCrds();
    const cluster = controlPlane.admin;
    await using world = await World.start({ cluster, connection: { refreshInterval: "30s" } });

    using watched = await WatchedComputes.start(cluster.kubeconfig, world.namespace);

    const measured = async (name: string) => {
      const { uid, addedAt, ready } = await eventually(`the status of ${name}`, () => {
        const moments = watched.moments.get(name);
        return moments?.ready && { ...moments, ready: moments.ready.at };
      });
      const create = world.counter.writes.find(({ body }) => body.includes(uid));
      if (create === undefined) throw new Error(`no create of ${name} arrived`);
      return { toCreate: create.arrivedAt - addedAt, ready };
    };
    /** When the newest operation of the project ended, by the service's clock. */
    const endedAt = async () => {
      const { operations } = newest.parse(await world.service.call("GET", "/projects/shop/operations?limit=1"));
      return Date.parse(operations[0]?.updated_at ?? "") - performance.timeOrigin;
    };
    const replica = (name: string) => compute(name, { projectID: "shop", branchID: "br-main", type: "read_only" });

    const one = async (name: string) => {
      await world.apply(replica(name));
      await world.waitForReady(`compute/${name}`);
      const { toCreate, ready } = await measured(name);
      return { toCreate, toReady: ready - (await endedAt()) };
    };

    const single: Awaited<ReturnType<typeof one>>[] = [];
    for (let index = 0; index < computes; index++) {
      await sleep(restMs);
      single.push(await one(`replica-${index}`));
      if ((index + 1) % 10 === 0) progress(`${index + 1} of ${computes}`);
    }
    const next: typeof single = [];
    for (let index = 0; index < behind; index++) next.push(await one(`behind-${index}`));
    const names = Array.from({ length: atOnce }, (_, index) => `burst-${index}`);
    await world.apply(...names.map(replica));
    const burst = await Promise.all(names.map(measured));
    return [
      {
        name: "ADDED to create at the service",
        unit: "ms",
        samples: single.map(({ toCreate }) => toCreate),
        below: 100,
      },
      {
        name: "end of the operation at the service to Ready",
        unit: "ms",
        samples: single.map(({ toReady }) => toReady),
        below: 400,
      },
      {
        name: "ADDED to create, as soon as another of the project is ready",
        unit: "ms",
        samples: next.slice(1).map(({ toCreate }) => toCreate),
      },
      {
        name: `ADDED to create, ${atOnce} at once in a project that is locked while each starts`,
        unit: "ms",
        samples: burst.map(({ toCreate }) => toCreate),
      },
    ];
  },
};
