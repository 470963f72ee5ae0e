import type { Endpoint } from "../../../api/endpoint.ts";
import { formersOf } from "../../claims/adopt-target.ts";
import { ownerOf } from "../../claims/claims.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { owningPool } from "../../resources/compute-pool.ts";
import { signatureIn, signatureOf } from "../../resources/signature.ts";
import type { ReadonlyState } from "../memory.ts";
import { type Observation, who } from "../observe/observation.ts";
import { adoptionRefused, conflict } from "../words/conditions.ts";
import { former as messages } from "../words/former.ts";
import { rowOf } from "../words/reasons.ts";
import type { Action, PlanRule } from "./action.ts";

// Endpoints that a former Compute of this fleet, namespace and name made. Fleet and key of the signature find them; the
// uid proves that they are not ours yet. One of them is taken over only if `spec.adopt.former` asks for it and nothing
// is in doubt: one PATCH of its name signs it, and it is linked when a list shows the new name.

/** `spec.adopt.former`, while nothing is linked. */
export function takeOverFormer(o: Observation, s: ReadonlyState): Action | undefined {
  const { compute, fleet } = o;
  if (wasLinked(o)) return undefined;
  if (fleet === undefined) {
    return { kind: "blocked", reason: "AdoptionRefused", message: adoptionRefused.withoutFleet, lacksFleet: true };
  }
  const formers = formersOf(o);
  const lost = formers.find(({ id }) => id === signedID(s));
  if (lost !== undefined) return { kind: "blocked", reason: "Conflict", message: conflict.signedByOther(lost.id) };
  const [former] = formers;
  if (former === undefined || whyNotTaken(o) !== undefined) return undefined;
  return { kind: "sign", endpointID: former.id, name: signatureOf(compute, fleet), takesOver: true };
}

/** The endpoint that this term signed, as the service answered: it bears another signature since. */
function signedID({ write }: ReadonlyState): string | undefined {
  return write?.record.operation === "takeover" ? write.made : undefined;
}

/** Message for a primary in the way that is a former Compute's, with the reason why it is not taken over. */
export function formerPrimary(o: Observation, primary: Endpoint): string | undefined {
  const branchID = branchIDOf(o.compute);
  if (formersOf(o).includes(primary)) return messages.primary(branchID, whyNotTaken(o) ?? "", primary.id);
  return formersOf(o, "other").includes(primary) ? messages.primaryOfOtherFleet(branchID, primary.id) : undefined;
}

/**
 * Before another endpoint is made, a warning names those that are not taken over. A pool's member waits instead: the
 * pool was probably restored, and a second endpoint beside each of its replicas is never what it declares.
 */
export function besideFormer(o: Observation, { told: { formers: warnedOf = [] } }: ReadonlyState): Action | undefined {
  const formers = formersOf(o);
  const pool = owningPool(o.compute);
  if (pool !== undefined && formers.length > 0 && whyNotTaken(o) === messages.why.notAsked) {
    const message = messages.member(
      pool.name,
      formers.map(({ id }) => id),
    );
    return { kind: "blocked", reason: "FormerMembers", message };
  }
  const endpointIDs = [...formers, ...formersOf(o, "other")].map(({ id }) => id).toSorted();
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
  if (links.link?.proof !== "signature" || compute.spec.driftPolicy !== "Correct") return undefined;
  const { id, name } = links.link.endpoint;
  const signature = signatureOf(compute, fleet);
  if (name === undefined || name === signature || rowOf(shownReason(compute))?.ready !== "True") return undefined;
  if (s.signed?.endpointID === id && now < s.signed.renewAt) return undefined;
  return { kind: "sign", endpointID: id, name: signature, takesOver: false };
};

/** The linked endpoint was ours, and bears the signature of another uid now: another cluster of the fleet took it. */
export const signedByOther: PlanRule = (o, s) => {
  const endpointID = o.links.link?.endpoint.id;
  if (endpointID === undefined || !isSignedByOther(o, s)) return undefined;
  return { kind: "blocked", reason: "Conflict", message: conflict.signedByOther(endpointID), ownedByOther: true };
};

export function isSignedByOther({ compute, links }: Observation, { write }: ReadonlyState): boolean {
  const { id, name } = links.link?.endpoint ?? {};
  const signature = signatureIn(name);
  if (id === undefined || signature === undefined || signature.uid === compute.metadata.uid) return false;
  const { proof } = compute.status;
  if (proof?.endpointID === id) return proof.by !== "adopted";
  // The answer to a create is a proof too: another cluster may sign before a status says so. That to a move is none:
  // a copy may move what its typed link names.
  return write?.made === id && (write.record.operation === "create" || write.record.operation === "takeover");
}

/** Reason why a former Compute's endpoint is not taken over; `undefined`: it is, if `spec.adopt` asks for it. */
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

/** True if the Compute had an endpoint before, also if the link was dropped since. */
function wasLinked({ annotations, compute }: Observation): boolean {
  const { endpointID, gone, proof } = compute.status;
  return [annotations.recordedID, endpointID, gone, proof].some((one) => one !== undefined);
}
