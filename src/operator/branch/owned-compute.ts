import type { ClusterClient } from "../kube/client.ts";
import { createOwned } from "../kube/create-owned.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { conditionOf, hasEnded, isTrue } from "../objects/conditions-of.ts";
import { isBeingDeleted } from "../objects/object.ts";
import { type Branch, branchKind, ownedComputeSpec, owningBranch } from "../resources/branch.ts";
import { type Compute, computeKind, parseCompute } from "../resources/compute.ts";
import { API_VERSION } from "../resources/names.ts";
import { pausedForMs } from "../resources/pause.ts";
import { type ComputeStep, type OwnedCompute } from "./observation.ts";

/** Specs that a mutating admission policy stores in place of those sent, which are kept: see `StoredSpecs` of pools. */
export interface StoredSpecs {
  isKept(wanted: Compute["spec"], compute: Compute): boolean;
  answered(sent: Compute["spec"], compute: Compute): void;
}

/** The Compute of the object's name, against the one that the spec declares. */
export function ownedCompute(object: Branch, existing: Compute | undefined, stored: StoredSpecs): OwnedCompute {
  const wanted = declaredSpec(object);
  const isOwned = existing !== undefined && owningBranch(existing)?.uid === object.metadata.uid;
  if (existing === undefined) return { step: wanted === undefined ? undefined : { kind: "create" }, isTaken: false };
  if (!isOwned) return { step: undefined, isTaken: wanted !== undefined };
  if (isBeingDeleted(existing)) return { step: undefined, isTaken: false };
  if (wanted === undefined) return { step: { kind: "delete" }, isTaken: false };
  return { step: stored.isKept(wanted, existing) ? undefined : { kind: "patch" }, isTaken: false };
}

/**
 * True if the Branch is about to put the spec of its Compute back: until then that is not executed, as with a pool's
 * member. A Branch that is being deleted, paused, stalled or has ended puts nothing back, so the Compute's own spec
 * counts.
 */
export function awaitsBranch(object: Branch, compute: Compute, stored: StoredSpecs, wallNow: number): boolean {
  if (isBeingDeleted(object) || pausedForMs(object, wallNow) !== undefined) return false;
  if (isTrue(object.status, "Stalled") || hasEnded(object)) return false;
  // Owner references are copied with a manifest.
  if (compute.metadata.name !== object.metadata.name) return false;
  return ownedCompute(object, compute, stored).step?.kind === "patch";
}

/**
 * Brings the owned Compute to what is declared. One that is deleted keeps its endpoint if Retain came late. Returns a
 * Compute whose spec somebody had edited, and that was put back.
 */
export async function carryOut(
  step: ComputeStep,
  object: Branch,
  existing: Compute | undefined,
  { cluster, stored }: { cluster: ClusterClient; stored: StoredSpecs },
): Promise<Compute | undefined> {
  const wanted = declaredSpec(object);
  if (step.kind === "delete") {
    if (existing === undefined) return undefined;
    let { metadata } = existing;
    if (wanted?.deletionPolicy === "Retain" && existing.spec.deletionPolicy !== "Retain") {
      const patch = guardedPatch(existing, { resourceVersion: true }).set(["spec", "deletionPolicy"], "Retain");
      ({ metadata } = await cluster.patch(computeKind, metadata, patch.ops()));
    }
    // A Compute that lost its owner meanwhile stays.
    await cluster.delete(computeKind, metadata);
    return undefined;
  }
  if (wanted === undefined) return undefined;
  const answer =
    step.kind === "create" ? await created(object, wanted, cluster) : await patched(existing, wanted, cluster);
  const parsed = parseCompute(answer);
  if (!parsed.ok) return undefined;
  stored.answered(wanted, parsed.value);
  return step.kind === "patch" && wasEdited(object, existing, parsed.value) ? parsed.value : undefined;
}

/** True if a declared spec that was in force already was put back: the Branch itself did not change. */
function wasEdited({ metadata, status }: Branch, before: Compute | undefined, after: Compute): boolean {
  // The API server may store the same again.
  const isChanged = before?.metadata.generation !== after.metadata.generation;
  const isRolledOut = status.observedGeneration === metadata.generation;
  return isChanged && isRolledOut && conditionOf(status, "Ready")?.reason !== "Rejected";
}

function created(object: Branch, spec: Compute["spec"], cluster: ClusterClient): Promise<Compute | undefined> {
  const { name, namespace, labels } = object.metadata;
  const draft = { apiVersion: API_VERSION, kind: computeKind.kind, metadata: { name, namespace, labels }, spec };
  // The Compute does not block the deletion of its owner, which it outlives until the branch is deleted at the service.
  return createOwned(cluster, computeKind, draft, { kind: branchKind, object, isBlocked: false });
}

async function patched(existing: Compute | undefined, spec: Compute["spec"], cluster: ClusterClient): Promise<unknown> {
  if (existing === undefined) return undefined;
  const patch = guardedPatch(existing, { resourceVersion: true }).set(["spec"], spec);
  return cluster.patch(computeKind, existing.metadata, patch.ops());
}

/** The spec that the owned Compute is to have, as the API server stores it, with its defaults; `undefined`: none. */
export function declaredSpec(object: Branch): Compute["spec"] | undefined {
  const spec = ownedComputeSpec(object);
  if (spec === undefined) return undefined;
  const { name, namespace } = object.metadata;
  const parsed = parseCompute({ metadata: { name, namespace }, spec });
  return parsed.ok ? parsed.value.spec : undefined;
}
