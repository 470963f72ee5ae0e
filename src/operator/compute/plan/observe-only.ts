import { targetsOf } from "../../claims/adopt-target.ts";
import { isOwn } from "../../claims/ownership.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { isObserved } from "../../resources/management-policy.ts";
import type { ReadonlyState } from "../memory.ts";
import { isOpen } from "../memory.ts";
import { hasFinalizer, type Observed } from "../observe/observation.ts";
import { adoptionRefused, observed as messages } from "../words/conditions.ts";
import { former } from "../words/former.ts";
import { type Action, type PlanRule } from "./action.ts";
import { mismatch } from "./create.ts";
import { goneWithBranch, stepOfProof } from "./lost.ts";

// `managementPolicy: Observe`. Only the record of a write that Manage sent is still followed to its end; until then the
// finalizer stays, so that what it makes is found.

/** The finalizer of an observed Compute goes once no record is open: nothing of it is ever deleted. */
export function dropFinalizer(o: Observed, s: ReadonlyState): Action | undefined {
  const isHeld = !isObserved(o.compute) || isOpen(s.write);
  return isHeld || !hasFinalizer(o.compute) ? undefined : { kind: "dropFinalizer" };
}

/** `endpoint-id` is written for what the Compute made or is linked to; what `spec.adopt` names is not linked. */
export const linkShown: PlanRule = ({ compute, annotations, links: { link } }, s) => {
  if (link === undefined) return undefined;
  const { endpoint, proof } = link;
  const isLinked = isOwn(proof) || annotations.recordedID === endpoint.id;
  const isInPlace = annotations.endpointID === endpoint.id && hasFinalizer(compute) === isOpen(s.write);
  return isLinked && !isInPlace ? { kind: "link", endpointID: endpoint.id, proof, news: "none" } : undefined;
};

/** An observed Compute without an endpoint. One that lists lack counts as gone once that is proved. */
export const nothingToShow: PlanRule = (o, s) => {
  const { link, missing } = o.links;
  if (link !== undefined) return undefined;
  const { adopt, projectID } = o.compute.spec;
  if (missing !== undefined) {
    const isLinked = missing === o.annotations.recordedID;
    const unproved = (isLinked ? goneWithBranch(o, s, missing) : undefined) ?? stepOfProof(o, s, missing);
    if (unproved !== undefined) return unproved;
    if (isLinked) return refused(messages.gone(missing));
  }
  if (adopt === undefined) return refused(messages.nothing);
  const [target, ...others] = targetsOf(o);
  if (target !== undefined) {
    return others.length > 0 ? refused(messages.former(former.why.several)) : mismatch(o, target);
  }
  if ("endpointID" in adopt) return refused(adoptionRefused.notFound(projectID, adopt.endpointID));
  if ("branchPrimary" in adopt) return refused(messages.noPrimary(branchIDOf(o.compute)));
  if (o.fleet !== undefined) return refused(messages.former("there is none."));
  return { kind: "blocked", reason: "AdoptionRefused", message: adoptionRefused.withoutFleet, lacksFleet: true };
};

function refused(message: string): Action {
  return { kind: "blocked", reason: "AdoptionRefused", message };
}
