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
  const scale = (to: number) => {
    const ops = [{ op: "replace", path: "/spec/replicas", value: to }];
    const contentType = "application/json-patch+json";
    cluster.server.handle({ method: "PATCH", path: `${root}/computepools/web`, body: ops, contentType });
  };
  const patch = (path: string, ops: object[]) =>
    cluster.server.handle({
      method: "PATCH",
      path: `${root}/${path}`,
      body: ops,
      contentType: "application/json-patch+json",
    });
  const move = (to: string) => {
    patch("computepools/web", [{ op: "replace", path: "/spec/template/branchID", value: to }]);
  };
  const ready = () => {
    const conditions = [
      { type: "Ready", status: "True", reason: "Active", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    patch("computes/web-0/status", [{ op: "replace", path: "/status", value: { observedGeneration: 1, conditions } }]);
  };
  /** `seen`: the pool as the cache has it, where that lags behind. */
  const world: { refuses: typeof calm; seen?: ComputePool; selected: boolean } & Record<"pool", typeof pool> & {
      computes: typeof computes;
      pass: typeof pass;
      scale: typeof scale;
      move: typeof move;
      ready: typeof ready;
    } = { refuses: calm, selected: true, pool, computes, pass, scale, move, ready };
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
      selects: () => world.selected,
      cache: {
        poolByUID: () => world.seen ?? pool(),
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
    expect(await pass()).toBe(10_000);
    expect(await computes()).toHaveLength(2);
    expect(await pass()).toBeUndefined();
  });

  test("deletes no replica of an old number: a cache may know the Computes better than the pool", async () => {
    const world = pooled(1);
    const { pool, computes, pass, scale } = world;
    await pass();
    const old = pool();
    scale(3);
    await pass();
    expect(await computes()).toHaveLength(3);
    world.seen = old;
    expect(await pass()).toBe(5000);
    expect(await computes()).toHaveLength(3);
    expect((await computes()).every(({ metadata }) => metadata.deletionTimestamp === undefined)).toBe(true);
  });

  test("is not Ready for a template that its replicas have yet to be given", async () => {
    const world = pooled(1);
    const { pool, pass } = world;
    await pass();
    world.ready();
    await pass();
    expect(pool().status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
    world.move("br-other");
    await pass();
    expect(pool().status).toMatchObject({ observedGeneration: 2, readyReplicas: 0 });
    expect(pool().status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "False" }));
  });

  test("that another operator's selector selects is left to that one", async () => {
    const world = pooled(2);
    world.selected = false;
    expect(await world.pass()).toBeUndefined();
    expect(await world.computes()).toEqual([]);
    expect(world.pool().status.conditions ?? []).toEqual([]);
  });
});
