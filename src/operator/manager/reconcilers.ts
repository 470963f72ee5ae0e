import { awaitsBranch } from "../branch/owned-compute.ts";
import { BranchReconciler } from "../branch/reconciler.ts";
import { branchParts } from "../branch/steps.ts";
import { uses } from "../branch/users.ts";
import type { ClaimIndex } from "../claims/claim-index.ts";
import { computeKindOf, type StepOptions } from "../compute/kind.ts";
import { ComputeReconciler } from "../compute/reconciler.ts";
import { parts } from "../compute/steps.ts";
import type { SessionRegistry } from "../connection/registry.ts";
import { ConnectionSecrets } from "../connection-secret/connection-secret.ts";
import type { EventInput } from "../kube/event-record.ts";
import { placeOf } from "../objects/object.ts";
import { awaitsTemplate } from "../pool/plan.ts";
import { PoolReconciler } from "../pool/reconciler.ts";
import type { StoredSpecs } from "../pool/stored-specs.ts";
import { branchKind, owningBranch } from "../resources/branch.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { owningPool } from "../resources/compute-pool.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import { fleetOf } from "../resources/signature.ts";
import type { ChangeBlockedWorkers } from "../service-client/request-reservation.ts";
import { stopsTold } from "./guard-stops.ts";
import { linkedKey } from "./indexes.ts";
import type { ManagerOptions } from "./manager-options.ts";
import { secretCacheOf } from "./secret-cache.ts";
import { crdIsGoing, Uninstalling } from "./uninstalling.ts";

/** A name that no other term of leadership has. */
function termName(random: () => number): string {
  const digits = () =>
    Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, "0");
  return digits() + digits();
}

/** The parts of a term of leadership that reconciles of one kind use. */
export interface Term extends Pick<StepOptions, "signal"> {
  connections: SessionRegistry;
  storedSpecs: StoredSpecs;
  /** Of the queue of the kind. */
  changeBlockedWorkers: ChangeBlockedWorkers;
}

/** Reconciles Computes; the one place that says which parts a reconcile of `run` has. */
export function newComputeReconciler(
  options: ManagerOptions,
  {
    connections,
    claims,
    storedSpecs,
    changeBlockedWorkers,
    signal,
    ...hooks
  }: Term & Pick<StepOptions, "isStopping" | "onTurnOver" | "onStep"> & { claims: ClaimIndex },
): ComputeReconciler {
  const { cluster, informers, clock, random, brake, event: report, log, options: settings } = options;
  const event = (compute: Compute, record: EventInput) => report(computeKind, compute, record);
  const secrets = new ConnectionSecrets({
    cluster,
    clock,
    signal,
    cache: secretCacheOf(informers),
  });
  const kind = computeKindOf({
    parts,
    cluster,
    clock,
    signal,
    stored: (uid) => informers.computes.byUid(uid),
    secrets,
    uninstalling: new Uninstalling(cluster, clock, () => brake.wakeAll()),
    // An owner compares what is stored, and not what the schedule makes of it.
    awaitsOwner: (compute) =>
      awaitsOwner(informers.computes.byUid(compute.metadata.uid) ?? compute, informers, storedSpecs, clock.now()),
    event,
    onStop: stopsTold(options, computeKind.kind),
    ...hooks,
  });
  return new ComputeReconciler({
    kind,
    cluster,
    clock,
    term: termName(random),
    connections,
    claims,
    secrets,
    event,
    brake,
    changeBlockedWorkers,
    createSettleMs: settings.createSettleMs,
    cache: {
      computeByUID: (uid) => informers.computes.byUid(uid),
      branch: (namespace, name) => informers.branches.get(namespace, name),
      pool: (uid) => informers.pools.byUid(uid),
      membersOf: (uid) => informers.indexes.members.of(uid),
    },
    selects: (compute) => settings.selects(compute.metadata.labels),
    fleet: settings.fleet === undefined ? undefined : fleetOf(settings.fleet),
    onLeftBehind: ({ metadata: { namespace, name } }, endpoint) => {
      log.warn({ namespace, name, endpoint }, "a Compute was deleted without its finalizer, and its endpoint is kept");
    },
  });
}

/** True if the pool or Branch that owns a Compute is about to put its spec back. */
function awaitsOwner(
  compute: Compute,
  { pools, branches }: ManagerOptions["informers"],
  stored: StoredSpecs,
  wallNow: number,
): boolean {
  const pool = pools.byUid(owningPool(compute)?.uid ?? "");
  if (pool !== undefined) return awaitsTemplate(pool, compute, (wanted) => stored.isKept(wanted, compute));
  const branch = branches.byUid(owningBranch(compute)?.uid ?? "");
  return branch !== undefined && awaitsBranch(branch, compute, stored, wallNow);
}

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
  options: ManagerOptions,
  { connections, storedSpecs, changeBlockedWorkers, signal }: Term,
): BranchReconciler {
  const { cluster, informers, clock, event, branchBrake, log, options: settings } = options;
  return new BranchReconciler({
    parts: branchParts,
    cluster,
    clock,
    connections,
    event: (object, record) => {
      event(branchKind, object, record);
      const { namespace, name } = object.metadata;
      const fields = { namespace, name, branch: object.status.branchID, reason: record.reason };
      log[record.type === "Warning" ? "warn" : "info"](fields, record.message);
    },
    computeEvent: (compute, record) => event(computeKind, compute, record),
    brake: branchBrake,
    changeBlockedWorkers,
    uninstalling: () => crdIsGoing(cluster, branchKind),
    createSettleMs: settings.createSettleMs,
    fleet: settings.fleet,
    signal,
    cache: {
      branchByUID: (uid) => informers.branches.byUid(uid),
      near: (object) =>
        [...informers.indexes.branchPlaces.near(object)].flatMap((uid) => informers.branches.byUid(uid) ?? []),
      usersOf: (object) => {
        const { metadata, spec, status } = object;
        const context = { serviceOf: (user: ConnectionUser) => connections.baseURLOf(user), wallNow: clock.now() };
        const naming = informers.indexes.computesOnBranch.of(placeOf(metadata));
        const there = informers.indexes.computesAt.of(
          linkedKey(metadata.namespace, spec.projectID, status.branchID ?? ""),
        );
        const users = new Set([...naming, ...there].filter((compute) => uses(compute, object, context)));
        return Array.from(users, (compute) => compute.metadata.name).toSorted();
      },
      compute: ({ metadata: { namespace = "", name } }) => informers.computes.get(namespace, name),
    },
    storedSpecs,
    selects: (object) => settings.selects(object.metadata.labels),
    onStop: stopsTold(options, branchKind.kind),
  });
}
