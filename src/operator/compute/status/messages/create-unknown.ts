import { annotations } from "../../../resources/names.ts";

// What conditions of reason CreateUnknown say: a create was sent, and whether it made an endpoint is not known.
// `name` is the one that the endpoint was to have; `isDeleted`: the Compute is being deleted.

export const noAnswer =
  "A create was sent and got no usable answer. The next lists are searched for the endpoint before another create is sent.";

export const searching = (name: string, createSettleMs: number, isDeleted: boolean): string =>
  `A create was sent and its outcome is not known. The lists are searched for ${createSettleMs / 1000} s (--create-settle) before ${isDeleted ? "the Compute is removed" : "another create is sent"}: ${name}.`;

/** Both Computes may have made the primary, and the other one takes it. */
export const othersFirst = (owner: string, endpointID: string): string =>
  `A create was sent and its outcome is not known: the primary that appeared on the branch may also be what ${owner} created. That Compute takes it first, and nothing is sent until then: ${endpointID}.`;

export const sentElsewhere = (name: string): string =>
  `A create was sent with another base URL or key, and its endpoint is not listed with the current ones. Look for it there, then remove the annotation ${annotations.pendingCreate}: ${name}.`;

/** The name proves whose an endpoint is: where it cannot be read, no list proves that ours is not there. */
export const unreadableNames = (candidates: readonly string[], isDeleted: boolean): string =>
  `A create was sent and its outcome is not known: the names of endpoints that it may have created cannot be read. ${decide(candidates, isDeleted)}`;

export const hiddenNames = (candidates: readonly string[], isDeleted: boolean): string =>
  `A create was sent and its outcome is not known: this service shows no names to find its endpoint by. ${decide(candidates, isDeleted)}`;

function decide(candidates: readonly string[], isDeleted: boolean): string {
  const otherwise = isDeleted ? "have the Compute removed" : "have another create sent";
  const ids = candidates.length === 0 ? "none" : candidates.toSorted().join(", ");
  return `Set spec.adopt.endpointID to the right one, or remove the annotation ${annotations.pendingCreate} to ${otherwise}; candidates: ${ids}.`;
}
