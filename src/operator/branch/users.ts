import { sameJSON } from "../objects/record.ts";
import { type Branch, owningBranch } from "../resources/branch.ts";
import type { Compute } from "../resources/compute.ts";
import { connectionKeyOf } from "../resources/connection-user.ts";

/** True if a live Compute of the namespace names the Branch or has its endpoint on it, and is not the Branch's own. */
export function uses(compute: Compute, branch: Branch): boolean {
  const { metadata, spec } = compute;
  const { namespace, name, uid } = branch.metadata;
  if (metadata.namespace !== namespace || metadata.deletionTimestamp !== undefined) return false;
  if (owningBranch(compute)?.uid === uid) return false;
  return spec.branchRef?.name === name || standsOn(compute, branch);
}

/** True if the end of the branch would end the Compute's endpoint, which may have to move away or is moving there. */
export function standsOn(compute: Compute, branch: Branch): boolean {
  const { branchID } = branch.status;
  if (branchID === undefined || !placesOf(compute).includes(branchID)) return false;
  if (compute.spec.projectID !== branch.spec.projectID) return false;
  return sameJSON(connectionKeyOf(compute), connectionKeyOf(branch));
}

/** The branches where the endpoint of a Compute is, and where an open request may still make or bring it. */
export function placesOf({ metadata, status }: Compute): string[] {
  const { branchID, endpointID, gone, pendingWrite: record } = status;
  const isThere = branchID !== undefined && endpointID !== gone;
  const leadsTo = record === undefined || record.operation === "restart" ? undefined : (record.to ?? record.branchID);
  const isComing = leadsTo !== undefined && record?.uid === metadata.uid;
  return [...(isThere ? [branchID] : []), ...(isComing ? [leadsTo] : [])];
}
