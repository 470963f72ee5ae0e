import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import type { Compute } from "../../resources/compute.ts";
import { annotationsOf } from "../observe/annotations.ts";
import { type Claimants, ownerOf } from "../observe/claims.ts";
import { hasFinalizer } from "../observe/observation.ts";
import type { EndpointIndex } from "../observe/ownership.ts";
import type { ReadonlyState } from "../state.ts";
import { cleanedUp } from "../status/messages/events.ts";

/** What a Compute that is gone may have left at the service. */
export type Leftovers =
  | { kind: "nothing" }
  /** Something that this process did not make: it is never deleted for a Compute that is not there to say so. */
  | { kind: "kept"; message: string }
  /** What was made for it: by its id where that is known, else by its marker. */
  | { kind: "made"; endpointID: string | undefined };

/** Endpoints that a create of a Compute that is gone may have made, by all but their names, and that are nobody's. */
export function perhapsLeft(
  { spec }: Compute,
  { pendingCreate }: ReadonlyState,
  { index, claimants, namesShown }: { index: EndpointIndex; claimants: Claimants; namesShown: boolean },
): readonly Endpoint[] {
  if (pendingCreate === undefined) return [];
  const branchID = pendingCreate.mark?.branchID ?? spec.branchID;
  return index.all.filter((endpoint) => {
    const isUnnamed = namesShown ? hasUnreadableName(endpoint) : endpoint.name === undefined;
    const isPlaced = endpoint.branch_id === branchID && endpoint.type === spec.type;
    return isUnnamed && isPlaced && ownerOf(endpoint, claimants, index) === undefined;
  });
}

/**
 * Only what kubectl replace leaves (neither finalizer nor link nor mark) vanished without being let go: whoever takes
 * the finalizer away by hand leaves the rest, and means it.
 */
export function leftoversOf(last: Compute, { proved, pendingCreate, released }: ReadonlyState): Leftovers {
  const { endpointID: linked, pendingCreate: mark, paused } = annotationsOf(last);
  if (released === true || last.spec.deletionPolicy === "Retain") return { kind: "nothing" };
  // Seen with our finalizer to the last, as where somebody takes that from a Compute whose deletion waits: by hand, or
  // with kubectl replace, which nothing tells apart.
  if (hasFinalizer(last) && proved !== undefined) {
    return { kind: "kept", message: cleanedUp.unconfirmed(proved.endpointID) };
  }
  if (hasFinalizer(last) || linked !== undefined || mark !== undefined || paused) return { kind: "nothing" };
  if (proved === undefined)
    return pendingCreate === undefined ? { kind: "nothing" } : { kind: "made", endpointID: undefined };
  const { endpointID, proof } = proved;
  if (proof === "adopted") {
    return { kind: "kept", message: cleanedUp.adopted(endpointID) };
  }
  return { kind: "made", endpointID };
}
