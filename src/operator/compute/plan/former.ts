import type { Endpoint } from "../../../api/endpoint.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { keyOf, signatureIn, signatureOf, uidOfMarker } from "../../resources/signature.ts";
import { ownerOf } from "../observe/claims.ts";
import { type Observation, shownReason, who } from "../observe/observation.ts";
import type { ReadonlyState } from "../remembered.ts";
import { adoptionRefused, conflict, creating, moving } from "../status/messages/conditions.ts";
import { former as messages } from "../status/messages/former.ts";
import { rowOf } from "../status/reasons.ts";
import { type Action, leftUntil, noop, type PlanRule } from "./action.ts";
import { mayArriveForMs } from "./pending.ts";

// Endpoints that a former Compute of this fleet, namespace and name made. Fleet and key of the signature find them; the
// uid proves that they are not ours yet. One of them is taken over only if `spec.adopt.former` asks for it and nothing
// is in doubt: one PATCH of its name signs it, and it is linked when a list shows the new name.

/** How soon it is checked again whether an earlier create still completes, in milliseconds. */
const earlierCreateMs = 5000;

/** `spec.adopt.former`, while nothing is linked. */
export function takeOverFormer(o: Observation, s: ReadonlyState): Action | undefined {
  const { compute, fleet } = o;
  if (wasLinked(o)) return undefined;
  if (fleet === undefined) {
    return { kind: "blocked", reason: "AdoptionRefused", message: adoptionRefused.withoutFleet };
  }
  const formers = formersOf(o);
  const lost = formers.find((one) => wasSignedBefore(one, s));
  if (lost !== undefined) return { kind: "blocked", reason: "Conflict", message: conflict.signedByOther(lost.id) };
  const [former] = formers;
  if (former === undefined || whyNotTaken(o) !== undefined) return undefined;
  // Ours would then be two, and the Compute could go before the second is known.
  if (mayArriveForMs(o, s, "none") > 0) {
    return { kind: "wait", reason: "Creating", message: moving.earlierCreate, requeueAfterMs: earlierCreateMs };
  }
  const over = uidOfMarker(former.name);
  const { signed } = s;
  // Reads may lag behind the PATCH.
  if (signed?.endpointID === former.id && signed.over === over && o.now < signed.renewAt) {
    const message = creating.takingOver(former.id);
    return { kind: "wait", reason: "Updating", message, requeueAfterMs: signed.renewAt - o.now };
  }
  return { kind: "sign", endpointID: former.id, name: signatureOf(compute, fleet), over, through: o.fingerprint };
}

/** A signature that got no answer may still arrive: until it cannot, nothing else is created or linked. */
export const awaitTakeover: PlanRule = (o, s) => {
  const signedID = signedEndpoint(o, s);
  const mayBeTaken = formersOf(o).some(({ id }) => id === signedID);
  const leftMs = mayBeTaken && whyNotTaken(o) === undefined ? 0 : takeoverMayArriveForMs(o, s);
  return leftMs > 0
    ? { kind: "wait", reason: "Creating", message: creating.earlierTakeover, requeueAfterMs: leftMs }
    : undefined;
};

/** How long our signature may still arrive at an endpoint that is not linked, in milliseconds; 0: it cannot. */
export function takeoverMayArriveForMs(o: Observation, s: ReadonlyState): number {
  const { links, startedAt, now, createSettleMs } = o;
  const endpointID = signedEndpoint(o, s);
  if (endpointID === undefined || links.link !== undefined) return 0;
  const sentBefore = s.signed?.endpointID === endpointID ? s.signed.renewAt : s.seenSince;
  const settlesAt = sentBefore + createSettleMs;
  return startedAt >= settlesAt ? 0 : leftUntil(settlesAt, now);
}

/** The endpoint that our signature was sent for, also where kubectl replace dropped the mark since. */
function signedEndpoint(o: Observation, { signed }: ReadonlyState): string | undefined {
  const { pendingTakeover } = o.annotations;
  if (pendingTakeover !== undefined) return pendingTakeover.endpointID;
  return signed?.over === undefined || wasLinked(o) ? undefined : o.endpoints.byID(signed.endpointID)?.id;
}

/** What says that the primary in the way is a former Compute's, and why it is not taken over. */
export function formerPrimary(o: Observation, primary: Endpoint): string | undefined {
  const branchID = branchIDOf(o.compute);
  if (formersOf(o).includes(primary)) return messages.primary(branchID, whyNotTaken(o) ?? "", primary.id);
  return ofOtherFleets(o).includes(primary) ? messages.primaryOfOtherFleet(branchID, primary.id) : undefined;
}

/** Before another endpoint is made, a warning names those that are not taken over. */
export function besideFormer(o: Observation, { warnedOf = [] }: ReadonlyState): Action | undefined {
  const formers = formersOf(o);
  const endpointIDs = [...formers, ...ofOtherFleets(o)].map(({ id }) => id).toSorted();
  if (endpointIDs.every((id) => warnedOf.includes(id))) return undefined;
  const message =
    formers.length > 0 ? messages.beside(whyNotTaken(o) ?? "", endpointIDs) : messages.besideOtherFleet(endpointIDs);
  return { kind: "wait", reason: "Creating", message, requeueAfterMs: 1, warnsOf: endpointIDs };
}

/**
 * Our own endpoint bears the signature of another fleet, or of none: the present one is written over it, once the
 * Compute is at rest. Nothing depends on it, so a failure changes no condition.
 */
export const renewSignature: PlanRule = (o, s) => {
  const { compute, fleet, links, now } = o;
  if (links.link?.proof !== "marker" || compute.spec.driftPolicy !== "Correct") return undefined;
  const { id, name } = links.link.endpoint;
  const signature = signatureOf(compute, fleet);
  if (name === signature || rowOf(shownReason(compute))?.ready !== "True") return undefined;
  if (s.signed?.endpointID === id && now < s.signed.renewAt) return undefined;
  return { kind: "sign", endpointID: id, name: signature, over: undefined, through: o.fingerprint };
};

/** A list from so soon after our PATCH may lag: it shows what that was written over, though one before it did not. */
export const awaitSignature: PlanRule = ({ links: { link }, startedAt, now }, { signed }) => {
  if (signed?.over === undefined || startedAt >= signed.renewAt) return undefined;
  const { id, name } = link?.endpoint ?? {};
  const isAwaited = id === undefined || (id === signed.endpointID && uidOfMarker(name) === signed.over);
  return isAwaited ? noop(leftUntil(signed.renewAt, now)) : undefined;
};

/** The linked endpoint bore our signature, and bears that of another uid now: another cluster of the fleet took it. */
export const signedByOther: PlanRule = (o, s) => {
  const endpointID = o.links.link?.endpoint.id;
  if (endpointID === undefined || !isSignedByOther(o, s)) return undefined;
  return { kind: "blocked", reason: "Conflict", message: conflict.signedByOther(endpointID), ownedByOther: true };
};

export function isSignedByOther({ compute, links }: Observation, { proved }: ReadonlyState): boolean {
  const { id, name } = links.link?.endpoint ?? {};
  const signature = signatureIn(name);
  if (id === undefined || signature === undefined || signature.uid === compute.metadata.uid) return false;
  // The answer to a create is a proof too: another cluster may sign before a list of ours shows it.
  const wasProved = signature.fleet !== undefined && proved?.endpointID === id && proved.proof === "marker";
  return wasProved || compute.status.signedEndpoint === id;
}

/** This process signed it, and it bears neither that signature nor the one before: somebody else signed it since. */
function wasSignedBefore({ id, name }: Endpoint, { signed }: ReadonlyState): boolean {
  return signed?.endpointID === id && signed.over !== uidOfMarker(name);
}

/** What bears fleet and key of the Compute, and not its uid. */
function formersOf({ compute, endpoints, fleet }: Observation): Endpoint[] {
  if (fleet === undefined) return [];
  return endpoints.bearing(keyOf(compute), fleet, "same").filter((one) => isForeign(one, compute.metadata.uid));
}

/** What a Compute of this namespace and name made in another fleet: it is named, and never taken over. */
function ofOtherFleets({ compute, endpoints, fleet }: Observation): Endpoint[] {
  if (fleet === undefined) return [];
  return endpoints.bearing(keyOf(compute), fleet, "other").filter((one) => isForeign(one, compute.metadata.uid));
}

function isForeign({ name }: Endpoint, uid: string): boolean {
  return uidOfMarker(name) !== uid;
}

/** Why what a former Compute made is not taken over; `undefined`: it is, if `spec.adopt` asks for it. */
function whyNotTaken(o: Observation): string | undefined {
  const { compute, claimants, endpoints } = o;
  const { adopt, type } = compute.spec;
  const formers = formersOf(o);
  const [former] = formers;
  if (former === undefined) return undefined;
  if (adopt === undefined || !("former" in adopt)) return messages.why.notAsked;
  if (wasLinked(o)) return messages.why.wasLinked;
  if (formers.length > 1) return messages.why.several;
  if (former.type !== type) return messages.why.otherType(former.type);
  if (former.branch_id !== branchIDOf(compute)) return messages.why.otherBranch(former.branch_id);
  const owner = ownerOf(former, claimants, endpoints);
  return owner === undefined || owner === compute ? undefined : messages.why.taken(who(owner));
}

/** Whether the Compute had an endpoint before, also if the link was dropped since. */
function wasLinked({ annotations, compute }: Observation): boolean {
  return annotations.recordedID !== undefined || compute.status.observedThrough !== undefined;
}
