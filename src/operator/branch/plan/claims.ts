import { isOutOfReach, type Reach } from "../../life/out-of-reach.ts";
import { olderFirst, placeOf } from "../../objects/object.ts";
import { sameJSON } from "../../objects/record.ts";
import { type Branch, branchNameOf } from "../../resources/branch.ts";
import { connectionKeyOf } from "../../resources/connection-user.ts";
import { isOfService } from "../../resources/fingerprint.ts";
import { isOurs, linkedID, type Observation } from "../observation.ts";
import { branchReasons } from "../reasons.ts";

/**
 * One claimant per branch: a proved link beats a claim; then the older, then the lesser uid. Before a branch is linked
 * the name is what is claimed, then the id.
 */
export function rivalFor({ object, others, linked }: Observation): { what: string; place: string } | undefined {
  const id = linked?.listed.id ?? targetID(object);
  const name = branchNameOf(object);
  for (const other of others) {
    const otherID = targetID(other);
    const sameID = id !== undefined && otherID === id;
    const sameName = id === undefined && otherID === undefined && branchNameOf(other) === name;
    if (!sameID && !sameName) continue;
    const isProved = linked !== undefined && isOurs(linked.by);
    if (isProved && linked.by === "note") continue;
    if ((rank(object) - rank(other) || olderFirst(other, object)) < 0) {
      return { what: sameID ? `branch ${id}` : `branch "${name}"`, place: placeOf(other.metadata) };
    }
  }
  return undefined;
}

/** True if both may want one branch: a cheap look at each pair. What else `rivalFor` takes in comes after. */
export function mayMeet(object: Branch, other: Branch): boolean {
  const id = targetID(other);
  if (id === undefined) return branchNameOf(other) === branchNameOf(object);
  return id === object.status.branchID || id === targetID(object);
}

/**
 * True if another object claims nothing: its connection reaches nothing, and it has no branch there. A branch that it
 * had at another service, before its connection was changed, counts for nothing.
 */
export function isOutsider(other: Branch, object: Branch, connections: Reach): boolean {
  // The same connection reaches what this one reaches, whatever the status of the other says.
  if (sameJSON(connectionKeyOf(other), connectionKeyOf(object))) return false;
  return hasNothingAt(connections.baseURLOf(other), other) && isOutOfReach(other, branchReasons, connections);
}

function hasNothingAt(baseURL: string | undefined, { status: { branchID, observedThrough } }: Branch): boolean {
  const isSeen = observedThrough !== undefined && baseURL !== undefined && isOfService(observedThrough, baseURL);
  return branchID === undefined || !isSeen;
}

/** The branch that an object is linked to, or wants by its id. */
export function targetID(object: Branch): string | undefined {
  const { adopt } = object.spec;
  return linkedID(object) ?? (adopt !== undefined && "branchID" in adopt ? adopt.branchID : undefined);
}

/** A link with a proof, one without, a wish. */
function rank(object: Branch): number {
  const id = linkedID(object);
  const { proof } = object.status;
  if (id === undefined) return 0;
  return proof?.uid === object.metadata.uid && proof.branchID === id ? 2 : 1;
}
