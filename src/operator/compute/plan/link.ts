import { claimOnEndpoint } from "../observe/claims.ts";
import { hasFinalizer, type Subject, who } from "../observe/observation.ts";
import type { Proof } from "../observe/ownership.ts";
import type { ReadonlyState } from "../remembered.ts";
import { adoptionRefused, conflict } from "../status/messages/conditions.ts";
import { type Action, deletionOf, type LinkNews, noop, type PlanRule } from "./action.ts";
import { deleteDueInMs } from "./lost.ts";
import { markToKeep, pendingMark, replacementDroppedUnseen } from "./pending.ts";

/** When it is looked whether a list shows what is known from an answer alone, in milliseconds. */
const listedSoonMs = 2000;

/** Two endpoints with our marker: a create took effect long after it was given up. The other is ours, and goes. */
export const deleteDuplicate: PlanRule = (o, s) => {
  // Only a list tells that the linked endpoint still stands: without it the other is no duplicate.
  if (o.laidOver === true && o.links.duplicates.length > 0) return noop(listedSoonMs);
  const duplicate = o.links.duplicates.find(({ id }) => deleteDueInMs(o, s, id) === 0);
  return duplicate && deletionOf(duplicate, "duplicate", o.compute.metadata.uid);
};

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

/** Finalizer and link are restored wherever they are missing, and marks that have done their work removed. */
export const ensureLink: PlanRule = (o, s) => {
  if (o.links.link === undefined) return undefined;
  const { endpoint } = o.links.link;
  const { endpointID, recordedID, pendingCreate } = o.annotations;
  const proof = o.links.link.proof === "none" ? proofBefore(o, s, endpoint.id) : o.links.link.proof;
  const isPending = pendingCreate !== undefined;
  const kept = markToKeep(o, s, proof);
  const isDone = !isPending || kept.keepsMark !== undefined;
  if (endpointID === endpoint.id && hasFinalizer(o.compute) && isDone) return undefined;
  const news = recordedID === endpoint.id ? "none" : isPending ? "created" : newsOfUnmarked(o);
  return { kind: "link", endpointID: endpoint.id, proof, news, ...kept };
};

/** Without a mark and without a link, only a signature over that of a former Compute made the endpoint ours. */
function newsOfUnmarked({ compute: { spec, status } }: Subject): LinkNews {
  const isFormers = spec.adopt !== undefined && "former" in spec.adopt && status.observedThrough === undefined;
  return isFormers ? "former" : "none";
}

/**
 * What kubectl replace dropped is restored also while the service cannot be seen, or a deletion would not wait. The
 * link is not checked here: it is taken from the status, and nothing is concluded from it.
 */
export function restoreFinalizer(o: Subject, s: ReadonlyState): Action | undefined {
  if (hasFinalizer(o.compute)) return undefined;
  const { recordedID: endpointID } = o.annotations;
  const mark = pendingMark(o, s) ?? replacementDroppedUnseen(o);
  if (endpointID !== undefined) {
    const kept = mark === undefined ? {} : { keepsMark: mark };
    return { kind: "link", endpointID, proof: proofBefore(o, s, endpointID), news: "none", ...kept };
  }
  return mark === undefined ? undefined : { kind: "restorePending", mark };
}

/** The same where a list lacks the endpoint: it may stand where the connection does not lead now. */
export const restoreMissing: PlanRule = (o, s) => (o.links.missing === undefined ? undefined : restoreFinalizer(o, s));

/** The proof that went together with our finalizer, as by kubectl replace; a person who means it takes it alone. */
function proofBefore({ compute }: Subject, { proved }: ReadonlyState, endpointID: string): Proof {
  if (hasFinalizer(compute) || proved?.endpointID !== endpointID) return "none";
  // What spec.adopt no longer names is no longer adopted.
  const { proof } = proved;
  return proof === "adopted" && compute.spec.adopt === undefined ? "none" : proof;
}

/** A POST was answered with this endpoint, and its link could not be written: lists may show no name, or lag. */
export const recordCreatedEndpoint: PlanRule = (o, s) => {
  const { proved } = s;
  if (proved === undefined || proved.proof === "adopted" || o.links.link !== undefined) return undefined;
  if (o.annotations.recordedID === proved.endpointID) return undefined;
  return { kind: "link", ...proved, news: "created", ...markToKeep(o, s, proved.proof) };
};
