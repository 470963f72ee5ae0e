import { z } from "zod";
import { startControlPlane } from "../control-plane/control-plane.ts";
import { installCrds } from "../control-plane/crds.ts";
import { compute } from "../e2e/manifests.ts";
import { World } from "../e2e/world.ts";
import { eventually } from "../support/eventually.ts";
import { watchObjects } from "../support/watch.ts";
import type { Bench } from "./figures.ts";

const computes = 50;
const collection = (namespace: string) => `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/computes`;

const watched = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  status: z.object({ endpointID: z.string().optional() }).optional(),
});

/** When each thing became known about one Compute, in milliseconds of `performance.now`. */
interface Moments {
  uid?: string;
  added?: number;
  reported?: number;
}

/** How fast the operator is where nothing else is going on: all as separate processes, one Compute after another. */
export const latency: Bench = {
  name: "latency",
  measures: `${computes} Computes, each when the one before is ready, seen by an independent watch and by the service`,
  async run(progress) {
    await using controlPlane = await startControlPlane();
    const cluster = { kubeconfig: controlPlane.kubeconfig, kubectl: controlPlane.binaries.kubectl };
    await installCrds(cluster);
    await using world = await World.start({ cluster, connection: { refreshInterval: "30s" } });

    const moments = new Map<string, Moments>();
    const watch = await watchObjects(cluster.kubeconfig, collection(world.namespace), ({ at, type, object }) => {
      const { metadata, status } = watched.parse(object);
      const seen = moments.get(metadata.name) ?? {};
      if (type === "ADDED") Object.assign(seen, { uid: metadata.uid, added: at });
      if (status?.endpointID !== undefined) seen.reported ??= at;
      moments.set(metadata.name, seen);
    });

    const toCreate: number[] = [];
    const toStatus: number[] = [];
    for (let index = 0; index < computes; index++) {
      const name = `replica-${index}`;
      await world.apply(compute(name, { projectID: "shop", branchID: "br-main", type: "read_only" }));
      await world.waitForReady(`compute/${name}`);
      const { uid, added, reported } = await eventually(`the status of ${name}`, () => allKnown(moments.get(name)));
      const create = world.counter.writes.find(({ body }) => body.includes(uid));
      if (create?.answeredAt === undefined) throw new Error(`no create of ${name} was answered`);
      toCreate.push(create.arrivedAt - added);
      toStatus.push(reported - create.answeredAt);
      if ((index + 1) % 10 === 0) progress(`${index + 1} of ${computes}`);
    }
    watch.stop();
    return [
      { name: "ADDED to create at the service", unit: "ms", samples: toCreate, below: 100 },
      { name: "answer of the service to status", unit: "ms", samples: toStatus, below: 100 },
    ];
  },
};

function allKnown(moments: Moments | undefined): Required<Moments> | undefined {
  const { uid, added, reported } = moments ?? {};
  if (uid === undefined || added === undefined || reported === undefined) return undefined;
  return { uid, added, reported };
}
