import { conditionsFor } from "../conditions/conditions.ts";
import type { ConditionRow } from "../conditions/rows.ts";
import { conditionOf, hasEnded, isTrue, shownReason } from "../objects/conditions-of.ts";
import { isBeingDeleted } from "../objects/object.ts";
import { annotation } from "../resources/annotation.ts";
import type { Compute } from "../resources/compute.ts";
import type { ComputePool, ComputePoolStatus } from "../resources/compute-pool.ts";
import { labels } from "../resources/names.ts";
import * as messages from "./messages.ts";
import { type Member, type PoolPlan, specOf } from "./plan.ts";
import { poolReasons, rowOfMembers } from "./reasons.ts";
import { fieldsChanged } from "./stored-specs.ts";

/** Reason why the pool cannot reach its spec without action by the user. */
export interface Blocked {
  reason: "Conflict" | "FormerMembers" | "Rejected";
  message: string;
}

/** Obstacle that keeps the pool from its spec until a person acts. */
export function blockedIn({ blocked }: PoolPlan, members: readonly Member[]): Blocked | undefined {
  if (blocked !== undefined) return { reason: "Conflict", message: blocked };
  const waiting = members.find(({ compute }) => conditionOf(compute.status, "Ready")?.reason === "FormerMembers");
  const condition = waiting && conditionOf(waiting.compute.status, "Ready");
  return condition === undefined ? undefined : { reason: "FormerMembers", message: condition.message };
}

/** The fields of the template that the API server stores otherwise in members that are in place. */
function changedFields(pool: ComputePool, members: readonly Member[]): string[] {
  const fields = members.flatMap((member) => fieldsChanged(specOf(pool, member), member.compute.spec));
  return [...new Set(fields)].toSorted();
}

/** The status of a pool; `isOfMembers`: its reason is that of its members. */
export function poolStatus(
  pool: ComputePool,
  members: readonly Member[],
  plan: PoolPlan,
  blocked: Blocked | undefined,
  now: number,
): { status: ComputePoolStatus; isOfMembers: boolean } {
  const { metadata, spec } = pool;
  const { update } = plan;
  const current = members.filter(({ compute }) => !isBeingDeleted(compute));
  // A member that was just updated is not ready for the template yet.
  const ready = current.filter((member) => isReady(member.compute) && !update.includes(member)).length;
  const complete = current.length === spec.replicas && members.length === spec.replicas && update.length === 0;
  const shown = (): { row: ConditionRow; reason: string; message: string; isOfMembers?: true } => {
    if (blocked !== undefined) return { row: poolReasons[blocked.reason], ...blocked };
    if (!complete)
      return { row: poolReasons.Scaling, reason: "Scaling", message: messages.scaling.changing(metadata.name) };
    const fields = () => changedFields(pool, members);
    const showing = (reason: string) => current.filter(({ compute }) => shownReason(compute) === reason).length;
    if (ready === spec.replicas && showing("WaitingForTurn") === 0) {
      const message = messages.ready(fields(), showing("WaitingForWindow"));
      return { row: poolReasons.Ready, reason: "Ready", message };
    }
    // The Branch of the template came to its end, and all members with it.
    const ended = current.length > 0 && current.every(({ compute }) => hasEnded(compute));
    if (ended) return { row: poolReasons.Expired, reason: "Expired", message: messages.ended };
    const waiting = current.filter(({ compute }) => !isReady(compute));
    if (waiting.length === 0) {
      return { row: poolReasons.Scaling, reason: "Scaling", message: messages.scaling.inTurn(metadata.name) };
    }
    const common = commonReason(waiting);
    if (common === undefined) {
      return { row: poolReasons.Scaling, reason: "Scaling", message: messages.scaling.notReady(metadata.name) };
    }
    const message = messages.notReady(waiting.length, spec.replicas, common.message);
    return { row: rowOfMembers(common.isStalled), reason: common.reason, message, isOfMembers: true };
  };
  const { row, isOfMembers = false, ...condition } = shown();
  const status = {
    observedGeneration: metadata.generation ?? 0,
    conditions: conditionsFor(pool, row, condition, { now, compared: undefined }),
    replicas: members.length,
    readyReplicas: ready,
    updatedReplicas: current.filter((member) => isInStep(member.compute) && !update.includes(member)).length,
    selector: `${labels.pool}=${metadata.name}`,
    ...restartsOf(pool, current, plan),
  };
  return { status, isOfMembers };
}

/** The reason that all these members show, if they show one; `isStalled`: each needs a person. */
function commonReason(members: readonly Member[]): { reason: string; message: string; isStalled: boolean } | undefined {
  const shown = members.map(({ compute }) => conditionOf(compute.status, "Ready"));
  const [first] = shown;
  // A condition that is True is about an earlier spec.
  if (first === undefined || first.status === "True") return undefined;
  if (shown.some((each) => each?.reason !== first.reason)) return undefined;
  const isStalled = members.every(({ compute }) => isTrue(compute.status, "Stalled"));
  return { reason: first.reason, message: first.message ?? "", isStalled };
}

/** Ready for the present spec. */
function isReady(compute: Compute): boolean {
  return isTrueNow(compute, "Ready");
}

/** The service shows what the present spec says. */
function isInStep(compute: Compute): boolean {
  return isTrueNow(compute, "Synced");
}

function isTrueNow({ metadata, status }: Compute, type: string): boolean {
  return isTrue(status, type) && status.observedGeneration === metadata.generation;
}

/**
 * Progress of the pool's value of `restartedAt`: given once no member lacks it, and carried out once every member
 * that still has it says so. The value that the pool is made with counts as both.
 */
function restartsOf(
  pool: ComputePool,
  members: readonly Member[],
  { restart }: PoolPlan,
): Pick<ComputePoolStatus, "restartGiven" | "restartedAt"> {
  const { restartGiven, restartedAt, observedGeneration = -1 } = pool.status;
  const value = annotation(pool, "restartedAt");
  const given = value !== undefined && restart.length === 0 ? value : restartGiven;
  const isDone = members.every(
    ({ compute }) =>
      annotation(compute, "restartedAt") !== given || compute.status.restartedAt === given || observedGeneration < 0,
  );
  const done = isDone ? given : restartedAt;
  return {
    ...(given === undefined ? {} : { restartGiven: given }),
    ...(done === undefined ? {} : { restartedAt: done }),
  };
}
