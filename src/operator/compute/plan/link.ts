import { claimOnEndpoint } from "../observe/claims.ts";
import { type Proof, recordedID } from "../observe/ownership.ts";
import { pendingCreateOf } from "../observe/pending-operations.ts";
import { annotation, hasFinalizer, type PlanInput, who } from "../observe/plan-input.ts";
import { adoptionRefused, conflict } from "../status/messages/conditions.ts";
import type { Action } from "./action.ts";
import { deleteDueInMs } from "./delete-backoff.ts";
import { markToKeep, pendingMark } from "./pending.ts";
import type { Rule } from "./rule.ts";

/** Two endpoints with our marker: a create took effect long after it was given up. The other is ours, and goes. */
export const deleteDuplicate: Rule = (view, { links }) => {
  const extra = links.duplicates.find(({ id }) => deleteDueInMs(view, id) === 0);
  return extra === undefined ? undefined : { kind: "delete", endpointID: extra.id, why: "surplus" };
};

/** Another Compute has the better right to the endpoint that we are linked to. */
export const ownedByOther: Rule = ({ compute, claimants }, { links, endpoints }) => {
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

/** What is linked can never become what is declared: the link was copied, or typed, from a Compute of another type. */
export const linkOfAnotherType: Rule = ({ compute: { spec } }, { links }) => {
  const { endpoint } = links.link ?? {};
  if (endpoint === undefined || endpoint.type === spec.type) return undefined;
  return {
    kind: "blocked",
    reason: "AdoptionRefused",
    message: adoptionRefused.linkOfOtherType(endpoint.type, spec.type, endpoint.id),
    ownedByOther: true,
  };
};

/** Finalizer and link are put back wherever they are missing, and marks that have done their work taken away. */
export const ensureLink: Rule = (view, { links }) => {
  const { compute } = view;
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const proof = links.link.proof === "none" ? proofBefore(view, endpoint.id) : links.link.proof;
  const recorded = annotation(compute, "endpointID") === endpoint.id;
  const pending = pendingCreateOf(compute) !== undefined;
  const kept = markToKeep(view, proof);
  if (recorded && hasFinalizer(compute) && (!pending || kept.keepsMark !== undefined)) return undefined;
  const created = pending && recordedID(compute) !== endpoint.id;
  return {
    kind: "link",
    endpointID: endpoint.id,
    proof,
    news: created ? "created" : "none",
    ...kept,
  };
};

/**
 * What kubectl replace dropped is put back also while the service cannot be seen, or a deletion would not wait. A link
 * is not checked here: it is what the status has, and nothing is concluded from it.
 */
export function restoreFinalizer(view: PlanInput): Action | undefined {
  const { compute } = view;
  if (hasFinalizer(compute)) return undefined;
  const endpointID = recordedID(compute);
  const mark = pendingMark(view);
  if (endpointID !== undefined) {
    const kept = mark === undefined ? {} : { keepsMark: mark };
    return { kind: "link", endpointID, proof: proofBefore(view, endpointID), news: "none", ...kept };
  }
  return mark === undefined ? undefined : { kind: "restorePending", mark };
}

/** The proof that went together with our finalizer, as by kubectl replace; a person who means it takes it alone. */
function proofBefore({ compute, memory }: PlanInput, endpointID: string): Proof {
  if (hasFinalizer(compute) || memory.proved?.endpointID !== endpointID) return "none";
  // What spec.adopt no longer names is no longer adopted.
  const { proof } = memory.proved;
  return proof === "adopted" && compute.spec.adopt === undefined ? "none" : proof;
}

/** A POST was answered with this endpoint, and its link could not be written: lists may show no name, or lag. */
export const recordCreatedEndpoint: Rule = (view, { links }) => {
  const { proved } = view.memory;
  if (proved === undefined || proved.proof === "adopted" || links.link !== undefined) return undefined;
  if (recordedID(view.compute) === proved.endpointID) return undefined;
  return { kind: "link", ...proved, news: "created", ...markToKeep(view, proved.proof) };
};
