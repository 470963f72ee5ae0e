import { claimOnEndpoint } from "../../claims/claims.ts";
import { type Proof, proofOf } from "../../claims/ownership.ts";
import { isBeingDeleted } from "../../objects/object.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { soonMs } from "../../runtime/waits.ts";
import { isOpen, type ReadonlyState } from "../memory.ts";
import { hasFinalizer, type Observation, type Observed, who } from "../observe/observation.ts";
import { adoptionRefused, conflict } from "../words/conditions.ts";
import { type Action, deletionOf, type LinkNews, noop, type PlanRule } from "./action.ts";
import { deleteDueAt } from "./lost.ts";
import { awaitClosing } from "./pending.ts";

/**
 * More endpoints of ours: a create took effect long after it was given up. It goes only while a list shows our
 * signature on the one that is kept, nothing is open, and no other Compute has it.
 */
export const deleteDuplicate: PlanRule = (o, s) => {
  const { duplicates, link } = o.links;
  if (duplicates.length === 0) return undefined;
  if (o.laidOver === true) return noop(soonMs);
  const waits = awaitClosing(o, s);
  if (waits !== undefined) return waits;
  if (link?.proof !== "signature" || link.endpoint.name === undefined) return undefined;
  const duplicate = duplicates.find((endpoint) => isOwnedAlone(endpoint, o) && o.now >= deleteDueAt(s, endpoint.id));
  return duplicate && deletionOf(duplicate, "duplicate", o.compute.metadata.uid);
};

/** True if no other Compute has a claim on the endpoint. */
export function isOwnedAlone(
  endpoint: Parameters<typeof claimOnEndpoint>[1],
  { compute, claimants, endpoints }: Observation,
): boolean {
  return claimOnEndpoint(compute, endpoint, claimants, endpoints).kind === "free";
}

/** Another Compute has the better right to the endpoint that we are linked to. */
export const ownedByOther: PlanRule = ({ compute, claimants, links, endpoints }) => {
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const claim = claimOnEndpoint(compute, endpoint, claimants, endpoints);
  if (claim.kind !== "taken") return undefined;
  return {
    kind: "blocked",
    reason: "Conflict",
    message: conflict.linked(who(claim.by), endpoint.id),
    ownedByOther: true,
  };
};

/** The linked endpoint can never become what is declared: the link was copied from a Compute of another type. */
export const linkOfAnotherType: PlanRule = ({ compute: { spec }, links }) => {
  const { endpoint } = links.link ?? {};
  if (endpoint === undefined || endpoint.type === spec.type) return undefined;
  return {
    kind: "blocked",
    reason: "AdoptionRefused",
    message: adoptionRefused.linkOfOtherType(endpoint.type, spec.type, endpoint.id),
    ownedByOther: true,
  };
};

/** Finalizer and link are restored wherever they are missing. */
export const ensureLink: PlanRule = (o, s) => {
  const { compute, annotations, links } = o;
  if (links.link === undefined) return undefined;
  const { endpoint, proof } = links.link;
  if (annotations.endpointID === endpoint.id && hasFinalizer(compute)) return undefined;
  return { kind: "link", endpointID: endpoint.id, proof, news: newsOf(o, s, proof) };
};

/** A link that nobody had written before: what an open record made, or took over. */
function newsOf({ annotations, links }: Observation, { write }: ReadonlyState, proof: Proof): LinkNews {
  const isNew = links.link?.endpoint.id !== annotations.recordedID;
  if (!isNew || write === undefined || write.record.by === "unknown" || (proof !== "signature" && proof !== "created"))
    return "none";
  return write.record.operation === "takeover" ? "former" : "created";
}

/**
 * Puts back the finalizer that kubectl replace dropped, also while the service cannot be seen, or a deletion would not
 * wait. The link is not checked here: it is taken from the status, and nothing is concluded from it.
 */
export function restoreFinalizer(o: Observed, s: ReadonlyState): Action | undefined {
  if (hasFinalizer(o.compute) || isBeingDeleted(o.compute)) return undefined;
  if (isObserved(o.compute) && !isOpen(s.write)) return undefined;
  const { recordedID: endpointID } = o.annotations;
  if (endpointID !== undefined) return { kind: "link", endpointID, proof: "none", news: "none" };
  return s.write?.phase === "open" ? { kind: "restoreFinalizer" } : undefined;
}

/** The same where a list lacks the endpoint: it may stand where the connection does not lead now. */
export const restoreMissing: PlanRule = (o, s) => (o.links.missing === undefined ? undefined : restoreFinalizer(o, s));

/** A POST made this endpoint, and its link could not be written, or was dropped: lists may lag, or show no name. */
export const recordCreatedEndpoint: PlanRule = (o, { write }) => {
  const { made, record } = write ?? {};
  if (made === undefined || record?.operation !== "create" || o.compute.status.gone === made) return undefined;
  const endpoint = o.endpoints.byID(made);
  // A name that is there and is not ours outranks what was answered.
  const isNoted = endpoint?.name !== undefined || endpoint === undefined || proofOf(o.compute, endpoint) !== "none";
  if (o.annotations.recordedID === made && isNoted) return undefined;
  const shown = endpoint === undefined ? "none" : proofOf(o.compute, endpoint);
  const proof = shown === "none" ? "created" : shown;
  return { kind: "link", endpointID: made, proof, news: "created" };
};
