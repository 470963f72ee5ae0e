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

/** True if the endpoint of a Compute is on the branch, whose end would be its own: it may still have to move away. */
export function standsOn(compute: Compute, branch: Branch): boolean {
  const { branchID, endpointID, gone } = compute.status;
  if (branchID === undefined || branchID !== branch.status.branchID || endpointID === gone) return false;
  if (compute.spec.projectID !== branch.spec.projectID) return false;
  return sameJSON(connectionKeyOf(compute), connectionKeyOf(branch));
}
