import { describe, expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/cluster/client.ts";
import type { ClusterRequest, ClusterTransport } from "../../../src/operator/cluster/transport.ts";
import { PoolReconciler } from "../../../src/operator/pool/reconcile.ts";
import { type Compute, computeKind, parseCompute } from "../../../src/operator/resources/compute.ts";
import { type ComputePool, computePoolKind, parseComputePool } from "../../../src/operator/resources/compute-pool.ts";
import { customResourceDefinitions } from "../../../src/operator/resources/crd.ts";
import type { Parsed } from "../../../src/operator/resources/object.ts";
import { MemoryCluster } from "../cluster/memory-cluster.ts";

const forever = new AbortController().signal;
const root = "/apis/compute-operator.dev/v1alpha1/namespaces/default";

/** A pool on an API server in memory, seen as it stands there. */
function pooled(replicas: number) {
  const cluster = new MemoryCluster();
  for (const body of customResourceDefinitions()) {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.server.handle({ method: "POST", path, body });
  }
  const body = {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ComputePool",
    metadata: { name: "web" },
    spec: { replicas, template: { projectID: "shiny-wind-028834", branchID: "br-main" } },
  };
  cluster.server.handle({ method: "POST", path: `${root}/computepools`, body });
  const get = (path: string) => cluster.server.handle({ method: "GET", path: `${root}/${path}` });
  const pool = (): ComputePool => read(parseComputePool(get("computepools/web").body));
  const computes = async (): Promise<Compute[]> => {
    const { items } = await cluster.client().listPage(computeKind, { namespace: "default" });
    return items.map((item) => read(parseCompute(item)));
  };
  const calm: (request: ClusterRequest) => boolean = () => false;
  const world = { refuses: calm, pool, computes, pass };
  async function pass(): Promise<number | undefined> {
    const all = await computes();
    const inner = cluster.transport();
    const transport: ClusterTransport = {
      request: async (request, options) =>
        world.refuses(request)
          ? { status: 403, body: { kind: "Status", message: "exceeded quota", reason: "Forbidden" } }
          : inner.request(request, options),
      watch: (request, options) => inner.watch(request, options),
    };
    const reconciler = new PoolReconciler({
      cluster: new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 3000, signal: forever }),
      clock: cluster.clock,
      cache: {
        poolByUID: () => pool(),
        computesOf: () => all,
        compute: (_, name) => all.find(({ metadata }) => metadata.name === name),
      },
    });
    return reconciler.reconcile(pool().metadata.uid);
  }
  return world;
}

function read<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

describe(`a ${computePoolKind.kind}`, () => {
  test("one of whose changes the API server refuses says so, carries out the others, and tries again", async () => {
    const world = pooled(2);
    const { pool, computes, pass } = world;
    let refused = 0;
    world.refuses = ({ method, path }) => method === "POST" && path.endsWith("/computes") && ++refused === 1;
    expect(await pass()).toBe(60_000);
    expect((await computes()).map(({ metadata }) => metadata.name)).toEqual(["web-1"]);
    expect(pool().status.conditions).toContainEqual(
      expect.objectContaining({ type: "Stalled", status: "True", reason: "Rejected" }),
    );
    expect(await pass()).toBeUndefined();
    expect(await computes()).toHaveLength(2);
  });
});
