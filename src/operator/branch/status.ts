import type { ListedBranch } from "../../api/branch.ts";
import { sizeClass } from "../../api/branch-listing.ts";
import { conditionsFor } from "../conditions/conditions.ts";
import { isStalling } from "../life/due.ts";
import { shownReason } from "../objects/conditions-of.ts";
import { policyInForce } from "../objects/deletion-policy.ts";
import { generationOf, isBeingDeleted } from "../objects/object.ts";
import { sameJSON } from "../objects/record.ts";
import type { Branch, BranchStatus } from "../resources/branch.ts";
import { clusterConnectionOf } from "../resources/connection-user.ts";
import { isObserved } from "../resources/management-policy.ts";
import type { ReadonlyMemory } from "./memory.ts";
import { annotationOf, isProvedElsewhere, type Observation, type Unobserved } from "./observation.ts";
import type { Outcome } from "./outcome.ts";
import { differencesOf } from "./plan/observe-only.ts";
import { branchReasons } from "./reasons.ts";
import { noteOf } from "./record.ts";

/** The status after a reconcile; `undefined` if it is as it was. */
export function nextStatus(
  { object, condition, news, answered, isApplied }: Outcome,
  o: Observation | Unobserved,
  memory: ReadonlyMemory,
  wallNow: number,
): BranchStatus | undefined {
  const before = object.status;
  const seen = o.kind === "observed" ? o : undefined;
  const listed = answered ?? seen?.linked?.listed;
  const isBack = listed !== undefined && before.gone?.branchID === listed.id;
  const next: BranchStatus = {
    ...before,
    ...noteOf(memory, { ...before, ...news }),
    ...(listed === undefined ? {} : observed(listed, before)),
    ...(seen?.linked === undefined ? {} : { children: seen.listing.childrenOf(seen.linked.listed.id).length }),
    ...(seen?.linked === undefined ? {} : observedThrough(seen, seen.linked)),
    ...(isBack ? { gone: undefined } : {}),
    ...(seen === undefined ? {} : { lastHandledReconcileAt: annotationOf(object, "reconcileRequestedAt") }),
    ...news,
  };
  const reason = condition.kind === "shown" ? condition.reason : undefined;
  if (reason !== undefined && reason !== "Paused") {
    const generation = generationOf(object);
    if (reason !== "BranchExists") next.takenUntil = undefined;
    next.observedGeneration = generation;
    const isSettled = branchReasons[reason].synced === "True";
    if (isApplied || isSettled) next.appliedGeneration = generation;
    if ((before.observedGeneration ?? -1) === -1 && next.resetAt === undefined) {
      next.resetAt = annotationOf(object, "resetAt");
    }
  }
  next.deletionPolicy = isObserved(object) ? "Retain" : policyInForce({ spec: object.spec, status: next });
  next.state = stateOf(next, reason ?? shownReason(object), isBeingDeleted(object), listed);
  if (condition.kind === "shown") {
    const compared = seen?.linked === undefined ? undefined : isAsDeclared(object, seen.linked.listed);
    const stalls = isStalling(condition.reason, object, memory.requeue, o.now);
    next.conditions = conditionsFor(object, branchReasons[condition.reason], condition, {
      now: wallNow,
      compared,
      stalls,
    });
  }
  return sameJSON(next, before) ? undefined : withoutAbsent(next);
}

/** True if the branch is as the spec says, or is to have what was last sent. */
function isAsDeclared(object: Branch, listed: ListedBranch): boolean {
  if (isObserved(object)) return differencesOf(object, listed).length === 0;
  return object.status.appliedGeneration === object.metadata.generation;
}

function observed(listed: ListedBranch, before: BranchStatus): BranchStatus {
  const { logical_size: size } = listed;
  const isAsLarge = sizeClass(size) === sizeClass(before.logicalSize);
  return {
    branchName: listed.name,
    parentID: listed.parent_id,
    createdAt: listed.created_at,
    expiresAt: listed.expires_at,
    currentState: listed.current_state,
    protected: listed.protected,
    default: listed.default,
    logicalSize: isAsLarge ? before.logicalSize : size === undefined ? undefined : Math.round(size),
  };
}

/** A proof that counts for nothing here does not come to count because its branch was seen here. */
function observedThrough(
  { fingerprint, object }: Observation,
  { by }: NonNullable<Observation["linked"]>,
): BranchStatus {
  if (by === "none" && isProvedElsewhere(object, fingerprint)) return {};
  return { observedThrough: fingerprint, clusterConnection: clusterConnectionOf(object) };
}

function stateOf(
  { branchID, gone, currentState, state }: BranchStatus,
  reason: string | undefined,
  isGoing: boolean,
  listed: ListedBranch | undefined,
): string {
  if (gone !== undefined && gone.branchID === branchID) return gone.how === "Expired" ? "Expired" : "Lost";
  if (branchID === undefined)
    return reason === "Expired" ? "Expired" : reason === "CreateUnknown" ? "Unknown" : "NotCreated";
  if (isGoing && reason === "Deleting") return "Deleting";
  if (listed === undefined) return state ?? "Unknown";
  if (reason === "Resetting") return "Resetting";
  return currentState === "init" ? "Creating" : "Ready";
}

function withoutAbsent(status: BranchStatus): BranchStatus {
  return JSON.parse(JSON.stringify(status));
}
