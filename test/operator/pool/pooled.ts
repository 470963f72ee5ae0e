import { ClusterClient } from "../../../src/operator/kube/client.ts";
import type { ClusterRequest, ClusterTransport } from "../../../src/operator/kube/transport.ts";
import type { Parsed } from "../../../src/operator/objects/object.ts";
import { PoolReconciler } from "../../../src/operator/pool/reconciler.ts";
import { StoredSpecs } from "../../../src/operator/pool/stored-specs.ts";
import { type Compute, computeKind, parseCompute } from "../../../src/operator/resources/compute.ts";
import { type ComputePool, parseComputePool } from "../../../src/operator/resources/compute-pool.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";

const forever = new AbortController().signal;
export const root = "/apis/compute-operator.dev/v1alpha1/namespaces/default";

/** A pool on an API server in memory, seen as it stands there. */
export function pooled(replicas: number) {
  const cluster = new MemoryCluster();
  installCRDs(cluster.server);
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
  const edit = (index: number) => {
    patch(`computes/web-${index}`, [{ op: "add", path: "/spec/disabled", value: true }]);
  };
  const report = (status: string) => {
    const conditions = [
      { type: "Ready", status, reason: "Active", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    patch("computes/web-0/status", [{ op: "replace", path: "/status", value: { observedGeneration: 1, conditions } }]);
  };
  const ready = () => report("True");
  const unready = () => report("False");
  /** `seen`: the pool as the cache has it, where that lags behind. */
  const reported: string[] = [];
  const world: { refuses: typeof calm; seen?: ComputePool; selected: boolean } & Record<"pool", typeof pool> & {
      cluster: typeof cluster;
      reported: typeof reported;
      edit: (index: number) => void;
      computes: typeof computes;
      reconcile: typeof reconcile;
      scale: typeof scale;
      move: typeof move;
      ready: typeof ready;
      unready: typeof unready;
    } = {
    refuses: calm,
    selected: true,
    cluster,
    reported,
    pool,
    computes,
    reconcile,
    scale,
    move,
    ready,
    unready,
    edit,
  };
  const inner = cluster.transport();
  const transport: ClusterTransport = {
    request: async (request, options) =>
      world.refuses(request)
        ? { status: 403, body: { kind: "Status", message: "exceeded quota", reason: "Forbidden" } }
        : inner.request(request, options),
    watch: (request, options) => inner.watch(request, options),
  };
  let all: Compute[] = [];
  const reconciler = new PoolReconciler({
    cluster: new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 3000, signal: forever }),
    clock: cluster.clock,
    selects: () => world.selected,
    storedSpecs: new StoredSpecs(),
    event: ({ kind }, { metadata }, { type, reason, message }) =>
      reported.push(`${type} ${kind} ${metadata.name} ${reason}: ${message}`),
    cache: {
      poolByUID: () => world.seen ?? pool(),
      computesOf: () => all,
      compute: (_, name) => all.find(({ metadata }) => metadata.name === name),
    },
  });
  async function reconcile(): Promise<number | undefined> {
    all = await computes();
    const { requeueAfterMs } = await reconciler.reconcile(pool().metadata.uid);
    return requeueAfterMs;
  }
  return world;
}

function read<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}
