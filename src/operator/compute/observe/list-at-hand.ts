import { recordedID } from "../../claims/ownership.ts";
import type { EndpointLister } from "../../project/endpoint-lister.ts";
import type { Compute } from "../../resources/compute.ts";
import type { ReadonlyState } from "../memory.ts";

/**
 * True if a requeue that is due needs no list of its own: one is expected, or shows already what was waited for. An
 * endpoint that is missing is looked for at once: the end of its operations may never be seen.
 */
export function hasListAtHand(compute: Compute, { missing, requeue }: ReadonlyState, lister?: EndpointLister): boolean {
  const endpointID = recordedID(compute) ?? "";
  if (lister === undefined) return false;
  if (lister.isExpected(compute.metadata.uid, missing === undefined ? endpointID : undefined)) return true;
  const listedAt = lister.observed?.startedAt;
  if (requeue.wasBusy !== true || listedAt === undefined) return false;
  return lister.operations.followed.wereOverBefore(endpointID, listedAt);
}
