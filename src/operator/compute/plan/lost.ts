import { mostLagMs } from "../../../api/list-lag.ts";
import { endpointNamedBy } from "../../claims/ownership.ts";
import { requeueDelay } from "../../conditions/rows.ts";
import { nextProof } from "../../life/gone.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { hourlyMs } from "../../runtime/waits.ts";
import type { ReadonlyState } from "../memory.ts";
import { type Observation } from "../observe/observation.ts";
import { branchGone } from "../words/branch.ts";
import { adoptionRefused, endpointLost, lossDoubted, massLoss } from "../words/conditions.ts";
import { type Action, leftUntil, noop, type PlanRule } from "./action.ts";
import { resolveBranch } from "./branch.ts";

/** More than this many, and more than half, of a project's endpoints gone at once are not believed. */
const mostLost = 3;

/** The linked endpoint is not listed and another with our signature is: it takes its place once the loss is proved. */
export const adoptReplacement: PlanRule = (o, s) => {
  const { replacements, missing } = o.links;
  const [next] = replacements;
  if (next === undefined || missing === undefined) return undefined;
  const { endpoint, proof } = next;
  const link = { kind: "link", endpointID: endpoint.id, proof, news: "created" } as const;
  return stepOfProof(o, s, missing) ?? link;
};

/**
 * The linked endpoint is not listed. Gone means proved gone; and where too much is gone at once, or gone since base URL
 * or key changed, nothing is created again until a person confirms it.
 */
export const lostEndpoint: PlanRule = (o, s) => {
  const { compute, annotations } = o;
  const { link, missing: endpointID } = o.links;
  if (link !== undefined) return undefined;
  if (endpointID === undefined)
    return compute.status.gone === undefined ? undefined : notReplaced(o, compute.status.gone);
  const withBranch = goneWithBranch(o, s, endpointID);
  if (withBranch !== undefined) return withBranch;
  const doubt = doubtOfLoss(o, endpointID);
  if (doubt !== undefined && !annotations.lossConfirmed) {
    return tooNew(o, s, endpointID) ?? { kind: "blocked", reason: "MassLoss", message: massLoss(doubt) };
  }
  const unproved = stepOfProof(o, s, endpointID);
  if (unproved !== undefined) return unproved;
  // Also where no other is created, or the branch that it was on would stay claimed under any name.
  const resolved = resolveBranch(o, s);
  if (resolved?.kind === "resolve") return resolved;
  const message = endpointLost.replaced(endpointID);
  return (
    notReplaced(o, endpointID) ?? { kind: "wait", reason: "EndpointLost", message, requeueAfterMs: 1, gone: endpointID }
  );
};

/** An endpoint that is proved gone, where no other is created in its place. */
function notReplaced({ compute }: Observation, gone: string): Action | undefined {
  const named = endpointNamedBy(compute);
  if (named === gone)
    return { kind: "blocked", reason: "AdoptionRefused", message: adoptionRefused.deleted(gone), gone };
  // Another one that a person names is taken over in its place, and not made.
  if (compute.spec.driftPolicy !== "Report" || named !== undefined) return undefined;
  const requeueAfterMs = requeueDelay("slow", 0);
  return { kind: "wait", reason: "EndpointLost", message: endpointLost.reported(gone), requeueAfterMs, gone };
}

/** The time, in milliseconds, in which a Branch says whether its end has come, before its Computes report. */
const branchSaysMs = 60_000;

/** The endpoint ended with its branch, as a preview's does: nobody lost it, and there is nowhere to make another. */
export function goneWithBranch(o: Observation, s: ReadonlyState, endpointID: string): Action | undefined {
  const { compute, missingFrom, annotations } = o;
  if (missingFrom?.branch === "awaited" && !annotations.lossConfirmed) {
    const leftMs = (s.missing?.since ?? o.startedAt) + mostLagMs - o.now;
    return noop(leftMs > 0 ? leftMs : undefined);
  }
  if (missingFrom?.branch !== "gone") return undefined;
  const resolved = resolveBranch(o, s);
  // The Branch has no branch to offer: that its endpoint ended with it says more.
  const isUnusable = resolved?.kind === "blocked" && resolved.reason === "BranchNotReady";
  if (resolved !== undefined && !isUnusable) return resolved;
  const { branchID } = missingFrom;
  if (branchIDOf(compute) !== branchID) return undefined;
  const leftMs = (s.missing?.since ?? o.startedAt) + branchSaysMs - o.now;
  if (o.named !== undefined && o.named === o.referred && o.named.kind === "listed" && leftMs > 0) return noop(leftMs);
  return { kind: "blocked", reason: "BranchNotFound", message: branchGone(branchID, endpointID) };
}

/** The next step to prove that an endpoint is gone: lists agree that it is, then its own GET says so. */
export function stepOfProof(
  { now, startedAt }: Observation,
  { missing }: ReadonlyState,
  endpointID: string,
): Action | undefined {
  const step = nextProof(missing, startedAt);
  if (step.kind === "proved") return undefined;
  return step.kind === "ask"
    ? { kind: "confirmDeletion", endpointID, after: "lost" }
    : noop(leftUntil(startedAt + step.forMs, now));
}

/** An endpoint that this term made, and no status has recorded, may be newer than the lists: it is looked for first. */
export function tooNew(o: Observation, s: ReadonlyState, endpointID: string): Action | undefined {
  const isCreated = o.compute.status.observedThrough === undefined && s.write?.made === endpointID;
  return isCreated ? stepOfProof(o, s, endpointID) : undefined;
}

/** Reason why the loss of an endpoint is not believed until a person confirms it; `undefined`: it is believed. */
export function doubtOfLoss(
  { compute, notListed: { missing, known }, fingerprint }: Observation,
  endpointID: string,
): string | undefined {
  const { lossDoubted: isDoubted, observedThrough } = compute.status;
  // Once reported, a mass loss stays until a person acts, whatever was created, deleted or reported since.
  const isReported = shownReason(compute) === "MassLoss" || isDoubted === true;
  if ((isReported && observedThrough === fingerprint) || (missing > mostLost && missing * 2 > known)) {
    return lossDoubted.vanished(compute.spec.projectID, endpointID);
  }
  if (observedThrough === undefined) return lossDoubted.neverSeen(endpointID);
  return observedThrough === fingerprint ? undefined : lossDoubted.seenElsewhere(endpointID);
}

/** Time for which lists may still show a deleted endpoint before it is deleted once more, in milliseconds: doubles. */
const firstDeleteAgainMs = 30_000;

/**
 * Time from which a DELETE of this endpoint may be sent. A service that reports it deleted and still lists it is not
 * asked in a loop: each DELETE uses up a deletion that the brake allows.
 */
export function deleteDueAt({ deletes }: ReadonlyState, endpointID: string): number {
  const answered = deletes.get(endpointID);
  if (answered === undefined) return Number.NEGATIVE_INFINITY;
  return answered.at + Math.min(hourlyMs, firstDeleteAgainMs * 2 ** answered.before);
}
