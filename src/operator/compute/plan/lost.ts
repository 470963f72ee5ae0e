import { endpointNamedBy, proofOf } from "../observe/ownership.ts";
import { pendingCreateOf } from "../observe/pending-operations.ts";
import { type EndpointSnapshot, lossConfirmed, type PlanInput, shownReason } from "../observe/plan-input.ts";
import { adoptionRefused, endpointLost, lossDoubted, massLoss } from "../status/messages/conditions.ts";
import { requeueDelay } from "../status/reasons.ts";
import type { Action } from "./action.ts";
import { markToKeep } from "./pending.ts";
import type { Rule } from "./rule.ts";

/** Lists this far apart, in milliseconds, must lack an endpoint before it is asked for by its id. */
export const goneAfterMs = 10_000;

/** More than this many, and more than half, of a project's endpoints gone at once are not believed. */
const mostLost = 3;

/** The linked endpoint is not listed and another with our marker is: it takes its place once the loss is proved. */
export const adoptReplacement: Rule = (view, list) => {
  const { replacements, missing } = list.links;
  const [next] = replacements;
  if (next === undefined || missing === undefined) return undefined;
  const proof = proofOf(view.compute, next);
  const link = { kind: "link", endpointID: next.id, proof, news: "created" } as const;
  return stepOfProof(view, list, missing) ?? { ...link, ...markToKeep(view, proof) };
};

/**
 * The linked endpoint is not listed. Gone means proved gone; and where too much is gone at once, or gone since base URL
 * or key changed, nothing is created again until a person confirms it.
 */
export const lostEndpoint: Rule = (view, list) => {
  const { links } = list;
  const endpointID = links.missing;
  if (links.link !== undefined || endpointID === undefined) return undefined;
  const { compute } = view;
  // A create is pending in its place: the loss was proved before that was sent.
  if (pendingCreateOf(compute) !== undefined) return undefined;
  const doubt = doubtOfLoss(view, list, endpointID);
  if (doubt !== undefined && !lossConfirmed(compute)) {
    return tooNew(view, list, endpointID) ?? { kind: "blocked", reason: "MassLoss", message: massLoss(doubt) };
  }
  const unproved = stepOfProof(view, list, endpointID);
  if (unproved !== undefined) return unproved;
  const named = endpointNamedBy(compute);
  if (named === endpointID) {
    return { kind: "blocked", reason: "AdoptionRefused", message: adoptionRefused.deleted(endpointID) };
  }
  // Another one that a person names is taken over in its place, and not made.
  if (compute.spec.driftPolicy === "Report" && named === undefined) {
    return {
      kind: "wait",
      reason: "EndpointLost",
      message: endpointLost.reported(endpointID),
      requeueAfterMs: requeueDelay("slow", 0) ?? 0,
    };
  }
  // Reported once: the create goes on, whatever became of it since.
  if (compute.status.state === "Lost" && shownReason(compute) !== "MassLoss") return undefined;
  return {
    kind: "wait",
    reason: "EndpointLost",
    message: endpointLost.replaced(endpointID),
    requeueAfterMs: 1,
  };
};

/** What is still to be done to prove that an endpoint is gone. */
export function stepOfProof(
  { memory, now, createSettleMs }: PlanInput,
  { startedAt }: EndpointSnapshot,
  endpointID: string,
): Action | undefined {
  if (memory.missing?.proved === true) return undefined;
  const since = memory.missing?.firstListWithout ?? startedAt;
  // Reads may lag behind a create: what no list has shown yet is not called lost before that has settled.
  const { created } = memory;
  const settlesAt = created?.endpointID === endpointID ? created.at + createSettleMs : Number.NEGATIVE_INFINITY;
  if (now >= settlesAt && startedAt - since >= goneAfterMs)
    return { kind: "confirmDeletion", endpointID, after: "lost" };
  return { kind: "noop", requeueAfterMs: Math.max(since + goneAfterMs, settlesAt) - now };
}

/**
 * An endpoint that no status has recorded yet may be newer than the lists: it is looked for before it counts as lost.
 */
export function tooNew(view: PlanInput, list: EndpointSnapshot, endpointID: string): Action | undefined {
  const { compute, memory } = view;
  const isMade = compute.status.observedThrough === undefined && memory.proved?.endpointID === endpointID;
  return isMade ? stepOfProof(view, list, endpointID) : undefined;
}

/** Why the loss of an endpoint is not believed until a person confirms it, where it is not. */
export function doubtOfLoss({ compute }: PlanInput, list: EndpointSnapshot, endpointID: string): string | undefined {
  const { missing, known } = list.notListed;
  // Once too much was gone it stays so until a person acts, though others were made anew or deleted meanwhile, and
  // whatever else was to be told since.
  const doubted = shownReason(compute) === "MassLoss" || compute.status.lossDoubted === true;
  const told = doubted && compute.status.observedThrough === list.through;
  if (told || (missing > mostLost && missing * 2 > known)) {
    return lossDoubted.vanished(compute.spec.projectID, endpointID);
  }
  const { observedThrough } = compute.status;
  if (observedThrough === undefined) return lossDoubted.neverSeen(endpointID);
  return observedThrough === list.through ? undefined : lossDoubted.seenElsewhere(endpointID);
}
