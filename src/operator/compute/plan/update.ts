import { mostLagMs } from "../../../api/list-lag.ts";
import { claimOnBranch } from "../../claims/claims.ts";
import type { Link } from "../../claims/ownership.ts";
import { requeueDelay } from "../../conditions/rows.ts";
import type { Difference } from "../../fields/compare.ts";
import { type Attributes, compare, desiredSpec, merged } from "../../fields/compare.ts";
import { generationOf } from "../../objects/object.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { seldomMs } from "../../runtime/waits.ts";
import type { ReadonlyState } from "../memory.ts";
import { isMoveOpen } from "../memory.ts";
import { type Observation, who } from "../observe/observation.ts";
import * as messages from "../words/conditions.ts";
import type { Action, PatchAction, PlanRule } from "./action.ts";
import { askWhetherIdle, type Changes, changesOf, stillAfterPatch, waitingOf } from "./changes.ts";
import { inForce } from "./disruption.ts";
import { awaitClosing } from "./pending.ts";

/** Sends what differs from the spec, in one PATCH; what cuts connections waits for a window. */
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
  const changes = changesOf(comparison, link, o, s);
  const { differences, notReturned, corrects, drift } = changes;
  const waits = awaitClosing(o, s);
  const asked = waits === undefined ? askWhetherIdle(changes, o, s) : undefined;
  if (asked !== undefined) return asked;
  if (differences.length === 0 && notReturned.length === 0) return isMovingAway(link, o, s) ? waits : undefined;
  if (waits !== undefined) return waits;
  const refused = fieldNotPersisted(differences, o, s) ?? tugOfWar(corrects, o, s) ?? blockedMove(differences, o);
  if (refused !== undefined) return refused;
  const patch = patchOf(link, changes, o);
  const unsent = comparison.differences.find((one) => one.field === "branchID" && !differences.includes(one));
  const isHeld = changes.held.some(({ field }) => field === "branchID");
  return unsent === undefined || isHeld ? patch : { ...patch, drift: withBranch(drift, unsent) };
};

/** The reported drift with a branch on which the endpoint stays: once the status shows that, only an edit moves it. */
function withBranch(drift: readonly Difference[], { field, ours, theirs }: Difference): readonly Difference[] {
  return [...drift.filter((reported) => reported.field !== field), { field, ours, theirs }];
}

/** True if a list that lags shows the spec's branch while a move leads away from it: the spec was edited back. */
function isMovingAway({ endpoint }: Link, { compute }: Observation, { write }: ReadonlyState): boolean {
  const branchID = branchIDOf(compute);
  return isMoveOpen(write) && endpoint.branch_id === branchID && write?.record.to !== branchID;
}

function patchOf(link: Link, { differences, notReturned, held, corrects }: Changes, o: Observation): PatchAction {
  const attributes: Attributes = merged([...differences, ...notReturned].map(({ send }) => send));
  const moves = attributes.branch_id !== undefined;
  return {
    kind: "patch",
    endpointID: link.endpoint.id,
    attributes,
    fields: [...differences, ...notReturned].map(({ field }) => field),
    progress: moves ? "Moving" : "Updating",
    ...(moves ? { from: link.endpoint.branch_id } : {}),
    corrects: corrects.map(({ field, ours, theirs }) => ({ field, ours, theirs })),
    ...inForce(o),
    ...(held.length === 0 ? {} : { waiting: waitingOf(held) }),
  };
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
  corrects: readonly Difference[],
  { compute, now }: Observation,
  { corrections }: ReadonlyState,
): Action | undefined {
  if (corrects.length === 0) return undefined;
  const recent = corrections.filter(
    ({ generation, at }) => generation === generationOf(compute) && now - at < seldomMs,
  );
  if (recent.length < mostCorrections) return undefined;
  const message = messages.tugOfWar(corrects);
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
