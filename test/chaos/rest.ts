import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { writesBy } from "../control-plane/audit.ts";
import type { KubeObject } from "../simulation/api-server/objects.ts";
import { annotationOf, conditionOf, isDeleting, statusOf } from "../simulation/world/computes.ts";
import { sizeOf } from "./fleet.ts";
import { pathOf } from "./patient-cluster.ts";
import type { Person } from "./person.ts";
import { operatorUser, type StormStage } from "./storm-stage.ts";

const lookMs = 1000;

export async function listAll({ cluster, fleets }: StormStage, plural: string): Promise<KubeObject[]> {
  const lists = await Promise.all(fleets.map(({ namespace }) => cluster.list(namespace, plural)));
  return lists.flat();
}

/**
 * Waits until everything declared exists and is ready; users create again what was still being deleted. Where
 * that takes longer it ends all the same: what is not well by then is for the verdict to tell.
 */
export async function settle(stage: StormStage, workload: readonly Person[], seconds: number): Promise<void> {
  const size = stage.fleets.reduce((sum, fleet) => sum + sizeOf(fleet), 0);
  const deadline = performance.now() + 1000 * seconds;
  while (performance.now() < deadline) {
    const computes = await listAll(stage, "computes");
    if (computes.length === size && computes.every(isSettled)) return;
    await Promise.all(workload.map((person) => person.declareMissing(computes)));
    await sleep(lookMs);
  }
}

function isSettled(compute: KubeObject): boolean {
  const { observedGeneration, restartedAt, pendingWrite } = statusOf(compute);
  const asked = annotationOf(compute, "restartedAt");
  return (
    !isDeleting(compute) &&
    pendingWrite === undefined &&
    conditionOf(compute, "Ready")?.status === "True" &&
    observedGeneration === compute.metadata.generation &&
    (asked === undefined || restartedAt === asked)
  );
}

/**
 * Waits until nothing was written for so long, the lease aside; answers with the last writes where that never comes.
 */
export async function comeToRest(
  { proxy, controlPlane }: StormStage,
  seconds: number,
  patience: number,
): Promise<string[]> {
  const { auditLogFile } = controlPlane;
  const began = performance.now();
  let quietSince = began;
  let last: string[] = [];
  while (performance.now() - quietSince < 1000 * seconds) {
    const sent = proxy.writes.length;
    const audited = statSync(auditLogFile).size;
    await sleep(lookMs);
    const toCluster = writesBy(operatorUser, auditLogFile, audited)
      .filter(({ objectRef }) => objectRef?.resource !== "leases")
      .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
    const writes = [...proxy.writes.slice(sent).map(({ method, path }) => `${method} ${path}`), ...toCluster];
    if (writes.length === 0) continue;
    quietSince = performance.now();
    last = writes.map((write) => `written when all was settled: ${write}`);
    if (quietSince - began > 1000 * patience) return last;
  }
  return [];
}

/** People delete all there is, connections and keys last; answers with what does not go, and what still holds it. */
export async function clearAway(stage: StormStage, seconds: number): Promise<string[]> {
  const { cluster, fleets } = stage;
  const remove = (path: string) => cluster.request({ method: "DELETE", path });
  const collections = fleets.flatMap(({ namespace }) => [
    // Pools first, because they would create their Computes again.
    pathOf(namespace, "computepools"),
    pathOf(namespace, "computes"),
    pathOf(namespace, "serviceconnections"),
    `/api/v1/namespaces/${namespace}/secrets`,
  ]);
  for (const path of collections) await remove(path);
  const deadline = performance.now() + 1000 * seconds;
  for (;;) {
    const left = (await Promise.all(collections.map((path) => cluster.listAt(path)))).flat();
    if (left.length === 0 || performance.now() > deadline) {
      return left.map(({ metadata: { name, finalizers = [] } }) => `${name} does not go: ${finalizers.join(", ")}`);
    }
    await sleep(lookMs);
  }
}
