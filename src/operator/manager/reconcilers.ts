import { BranchReconciler } from "../branch/reconciler.ts";
import type { SessionRegistry } from "../connection/registry.ts";
import { PoolReconciler } from "../pool/reconciler.ts";
import type { StoredSpecs } from "../pool/stored-specs.ts";
import { type Branch, branchKind, owningBranch } from "../resources/branch.ts";
import type { Informers } from "./informers.ts";
import type { ManagerOptions } from "./manager.ts";
import { crdIsGoing } from "./uninstalling.ts";

/** Reconciles pools from the caches of this process. */
export function newPoolReconciler(
  { cluster, informers, clock, event, options: settings }: ManagerOptions,
  storedSpecs: StoredSpecs,
): PoolReconciler {
  return new PoolReconciler({
    cluster,
    clock,
    selects: (pool) => settings.selects(pool.metadata.labels),
    event,
    storedSpecs,
    cache: {
      poolByUID: (uid) => informers.pools.byUid(uid),
      computesOf: (namespace) => informers.computes.within(namespace),
      compute: (namespace, name) => informers.computes.get(namespace, name),
    },
  });
}

/** Reconciles Branches through the sessions of this term. */
export function newBranchReconciler(
  { cluster, informers, clock, event, branchBrake, options: settings }: ManagerOptions,
  connections: SessionRegistry,
  storedSpecs: StoredSpecs,
  signal: AbortSignal,
): BranchReconciler {
  return new BranchReconciler({
    cluster,
    clock,
    connections,
    event: (object, record) => event(branchKind, object, record),
    brake: branchBrake,
    uninstalling: () => crdIsGoing(cluster, branchKind),
    createSettleMs: settings.createSettleMs,
    fleet: settings.fleet,
    signal,
    cache: {
      branchByUID: (uid) => informers.branches.byUid(uid),
      branches: () => informers.branches.list(),
      usersOf: (object) => usersOf(object, informers),
      compute: ({ metadata: { namespace = "", name } }) => informers.computes.get(namespace, name),
    },
    storedSpecs,
    selects: (object) => settings.selects(object.metadata.labels),
  });
}

/** The names of live Computes that use a Branch and that it does not own. */
function usersOf({ metadata: { namespace = "", name, uid } }: Branch, { computes }: Informers): string[] {
  return computes.within(namespace).flatMap((compute) => {
    const { spec, metadata } = compute;
    const isUser = spec.branchRef?.name === name && metadata.deletionTimestamp === undefined;
    return isUser && owningBranch(compute)?.uid !== uid ? [metadata.name] : [];
  });
}
