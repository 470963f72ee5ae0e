import { mostLagMs } from "../../../api/list-lag.ts";
import { claimOnBranch } from "../../claims/claims.ts";
import type { Link } from "../../claims/ownership.ts";
import { requeueDelay } from "../../conditions/rows.ts";
import type { Difference } from "../../fields/compare.ts";
import {
  type Attributes,
  type Comparison,
  compare,
  desiredSpec,
  isDeprecated,
  merged,
  withWholeFields,
} from "../../fields/compare.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import { generationOf } from "../../objects/object.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { seldomMs } from "../../runtime/waits.ts";
import type { ReadonlyState } from "../memory.ts";
import { isMoveOpen } from "../memory.ts";
import { type Observation, who } from "../observe/observation.ts";
import * as messages from "../words/conditions.ts";
import type { Action, PatchAction, PlanRule } from "./action.ts";
import { awaitClosing } from "./pending.ts";

/** Sends what differs from the spec, in one PATCH. */
export const updateFields: PlanRule = (o, s) => {
  const { link } = o.links;
  if (link === undefined) return undefined;
  const comparison = compare(desiredSpec(o.compute), link.endpoint);
  const still = stillAfterPatch(comparison.differences, o, s);
  // Only lists that agree prove that the service accepted a change and keeps something else.
  const [first, last] = s.patched?.listsWithout ?? [];
  const isContradicted = first !== undefined && last !== undefined && last - first >= mostLagMs;
  if (still.length > 0 && !isContradicted) {
    return { kind: "wait", reason: "Updating", message: messages.notShownYet };
  }
  const { edited, drift } = since(o, s, link);
  const edits = comparison.differences.filter(
    (difference) => !isGivenUp(difference, still, edited, drift, o) && isToBeSent(difference, edited, drift, o, s),
  );
  const differences = withWholeFields(edits, comparison.differences);
  const notReturned = edited ? [...comparison.notReturned, ...sendable(comparison, differences)] : [];
  const waits = awaitClosing(o, s);
  if (differences.length === 0 && notReturned.length === 0) return isMovingAway(link, o, s) ? waits : undefined;
  if (waits !== undefined) return waits;
  const refused =
    fieldNotPersisted(differences, o, s) ?? tugOfWar(differences, edited, o, s) ?? blockedMove(differences, o);
  if (refused !== undefined) return refused;
  const patch = patchOf(link, { differences, notReturned }, edited);
  const unsent = comparison.differences.find((one) => one.field === "branchID" && !differences.includes(one));
  return unsent === undefined ? patch : { ...patch, drift: withBranch(drift, unsent) };
};

/**
 * True if the service took a deprecated field and did not keep it. It is sent once for each generation: after a restart
 * of the operator the reported drift says so.
 */
function isGivenUp(
  difference: Difference,
  still: readonly Difference[],
  edited: boolean,
  drift: readonly Difference[],
  { compute }: Observation,
): boolean {
  if (!isDeprecated(difference)) return false;
  const isReported = drift.some(({ field, ours }) => field === difference.field && ours === difference.ours);
  // A branch that is reported may be one to which somebody moved the endpoint.
  const isOfMove = difference.field === "branchID" && shownReason(compute) !== "Drifted";
  return still.includes(difference) || (!edited && isReported && !isOfMove);
}

/** The reported drift with a branch on which the endpoint stays: once the status shows that, only an edit moves it. */
function withBranch(drift: readonly Difference[], { field, ours, theirs }: Difference): readonly Difference[] {
  return [...drift.filter((reported) => reported.field !== field), { field, ours, theirs }];
}

/**
 * Edits of the spec since the service was last brought to it, and the drift reported since. Where a wiped status no
 * longer says so, `Report` waits for the next edit: it shows what differs, and sends nothing. A status without an
 * endpoint has the generation of a create: of an endpoint that only a person linked it says nothing.
 */
function since(
  { compute: { status, spec, metadata } }: Observation,
  { accepted }: ReadonlyState,
  { endpoint, proof }: Link,
): { edited: boolean; drift: readonly Difference[] } {
  const { appliedGeneration, drift = [] } = status;
  const own = accepted?.endpointID === endpoint.id ? accepted : undefined;
  const isOfCreate = status.endpointID === undefined && proof === "none";
  const shown = appliedGeneration === undefined ? accepted : { generation: appliedGeneration, drift };
  const known = isOfCreate ? own : shown;
  if (known === undefined) return { edited: spec.driftPolicy === "Correct", drift: [] };
  return { edited: Math.max(known.generation, own?.generation ?? -1) < (metadata.generation ?? 0), drift: known.drift };
}

/**
 * `Correct` sends whatever differs. `Report` sends what a newer generation changed: all that differs but what was
 * already reported as drift for the same value of ours. No branch is put back automatically: what another moved stays.
 */
function isToBeSent(
  difference: Difference,
  edited: boolean,
  drift: readonly Difference[],
  o: Observation,
  s: ReadonlyState,
): boolean {
  const { field, ours } = difference;
  const { driftPolicy, branchDrift } = o.compute.spec;
  if (field === "branchID" && branchDrift !== "Correct" && !isOwnMove(difference, { edited, drift }, o, s))
    return false;
  if (driftPolicy === "Correct") return true;
  return edited && !drift.some((reported) => reported.field === field && reported.ours === ours);
}

/**
 * True if the spec's branch is another than the endpoint was on, and not the endpoint on another than the spec's. The
 * status shows the branch as last seen: if that is the spec's, or was reported for it, the endpoint was moved outside.
 * A move of ours that lists do not show yet goes on, and where one without an answer led is our own doing.
 */
function isOwnMove(
  { ours: branchID, theirs }: Difference,
  { edited, drift }: { edited: boolean; drift: readonly Difference[] },
  { compute: { status, metadata } }: Observation,
  { patched, write }: ReadonlyState,
): boolean {
  if (patched?.generation === metadata.generation && patched?.fields.includes("branchID")) return true;
  const { operation, to, branchID: from } = write?.record ?? {};
  if (operation === "move") {
    const isUnanswered = write?.phase === "open" || write?.made === undefined;
    // The move led here, or never left for the branch that the spec still names.
    if (isUnanswered && (to === theirs || (from === theirs && to === branchID))) return true;
    // The spec was edited again before any status showed where it led.
    if (to === theirs && edited && status.branchID === from) return true;
  }
  if (drift.some(({ field, ours }) => field === "branchID" && ours === branchID)) return false;
  if (status.branchID === undefined) {
    // Without a cluster every difference is a change by the manifest. With one, the record says where we sent it first.
    return status.appliedGeneration === -1 || from === theirs || to === theirs;
  }
  return status.branchID !== branchID;
}

/** True if a list that lags shows the spec's branch while a move leads away from it: the spec was edited back. */
function isMovingAway({ endpoint }: Link, { compute }: Observation, { write }: ReadonlyState): boolean {
  const branchID = branchIDOf(compute);
  return isMoveOpen(write) && endpoint.branch_id === branchID && write?.record.to !== branchID;
}

/** Fields that cannot be read are sent once for each generation, as those that are not shown at all. */
function sendable({ unreadable }: Comparison, differences: readonly Difference[]): Comparison["notReturned"] {
  return unreadable.flatMap(({ field, ours, send }) =>
    send === undefined || differences.some((difference) => difference.field === field) ? [] : [{ field, ours, send }],
  );
}

function patchOf(
  link: Link,
  { differences, notReturned }: Pick<Comparison, "differences" | "notReturned">,
  edited: boolean,
): PatchAction {
  const attributes: Attributes = merged([...differences, ...notReturned].map(({ send }) => send));
  const moves = attributes.branch_id !== undefined;
  return {
    kind: "patch",
    endpointID: link.endpoint.id,
    attributes,
    fields: [...differences, ...notReturned].map(({ field }) => field),
    progress: moves ? "Moving" : "Updating",
    ...(moves ? { from: link.endpoint.branch_id } : {}),
    corrects: edited ? [] : differences.map(({ field, ours, theirs }) => ({ field, ours, theirs })),
  };
}

/** Differences that an accepted PATCH of this generation was to end. */
function stillAfterPatch(
  differences: readonly Difference[],
  { compute }: Observation,
  { patched }: ReadonlyState,
): Difference[] {
  if (patched === undefined || patched.generation !== generationOf(compute)) return [];
  return differences.filter(({ field }) => patched.fields.includes(field));
}

/** Two lists after an accepted PATCH still differ in what it sent: the service takes the field and does not keep it. */
function fieldNotPersisted(differences: readonly Difference[], o: Observation, s: ReadonlyState): Action | undefined {
  const { patched } = s;
  const still = stillAfterPatch(differences, o, s);
  if (patched === undefined || still.length === 0) return undefined;
  const againAt = patched.at + (requeueDelay("slow", patched.tries) ?? 0);
  if (o.now >= againAt) return undefined;
  return {
    kind: "blocked",
    reason: "Rejected",
    message: messages.notPersisted(still),
    requeueAfterMs: againAt - o.now,
  };
}

/** Corrections of one generation in the last ten minutes that are still taken for coincidence. */
const mostCorrections = 4;

function tugOfWar(
  differences: readonly Difference[],
  edited: boolean,
  { compute, now }: Observation,
  { corrections }: ReadonlyState,
): Action | undefined {
  if (edited) return undefined;
  const recent = corrections.filter(
    ({ generation, at }) => generation === generationOf(compute) && now - at < seldomMs,
  );
  if (recent.length < mostCorrections) return undefined;
  const message = messages.tugOfWar(differences);
  return { kind: "blocked", reason: "Rejected", message, requeueAfterMs: seldomMs };
}

/** A primary moves onto a branch only when that is free. */
function blockedMove(differences: readonly Difference[], o: Observation): Action | undefined {
  const { compute, claimants } = o;
  if (compute.spec.type !== "read_write" || !differences.some(({ field }) => field === "branchID")) return undefined;
  const claim = claimOnBranch(compute, claimants, o.endpoints);
  const branchID = branchIDOf(compute);
  switch (claim.kind) {
    case "free":
      return undefined;
    case "taken":
      return { kind: "blocked", reason: "Conflict", message: messages.conflict.moveTaken(who(claim.by), branchID) };
    case "swap":
      return { kind: "blocked", reason: "Conflict", message: messages.conflict.swap(who(claim.by)) };
    case "leaving":
      return { kind: "wait", reason: "Moving", message: messages.moving.branchHeld(who(claim.by), branchID) };
    case "unowned":
      return {
        kind: "blocked",
        reason: "PrimaryExists",
        message: messages.primaryExists.move(branchID, claim.endpoint.id),
      };
  }
}
