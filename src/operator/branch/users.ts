import { isBeingDeleted } from "../objects/object.ts";
import { type Branch, owningBranch } from "../resources/branch.ts";
import { type Compute, namesBranch } from "../resources/compute.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import { pausedForMs } from "../resources/pause.ts";

export interface UseContext {
  /** The normalised base URL of an object's connection; `undefined`: it is not known. */
  serviceOf: (user: ConnectionUser) => string | undefined;
  wallNow: number;
}

/**
 * True if a Compute of the namespace names the Branch or has its endpoint on it, and is not the Branch's own. A Compute
 * that is being deleted counts only while `paused` keeps its endpoint.
 */
export function uses(compute: Compute, branch: Branch, { serviceOf, wallNow }: UseContext): boolean {
  const { namespace, uid } = branch.metadata;
  if (compute.metadata.namespace !== namespace || owningBranch(compute)?.uid === uid) return false;
  if (isBeingDeleted(compute) && pausedForMs(compute, wallNow) === undefined) return false;
  if (namesBranch(compute, branch)) return true;
  if (!standsOn(compute, branch)) return false;
  // Another connection may lead to the same service, and one that is not there is no proof of another.
  const [itsService, service] = [serviceOf(compute), serviceOf(branch)];
  return itsService === undefined || service === undefined || itsService === service;
}

/**
 * True if the end of the branch would end the Compute's endpoint, which may have to move away or is moving there,
 * provided that both are of the same service.
 */
function standsOn(compute: Compute, { spec, status: { branchID } }: Branch): boolean {
  return branchID !== undefined && compute.spec.projectID === spec.projectID && placesOf(compute).includes(branchID);
}

/** The branches where the endpoint of a Compute is, and where an open request may still make or bring it. */
export function placesOf({ metadata, status }: Compute): string[] {
  const { branchID, endpointID, gone, pendingWrite: record } = status;
  const isThere = branchID !== undefined && endpointID !== gone;
  const leadsTo = record === undefined || record.operation === "restart" ? undefined : (record.to ?? record.branchID);
  const isComing = leadsTo !== undefined && record?.uid === metadata.uid;
  return [...(isThere ? [branchID] : []), ...(isComing ? [leadsTo] : [])];
}
