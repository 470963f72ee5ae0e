import { ownerOf } from "../../operator/compute/observe/claims.ts";
import type { Observed } from "../../operator/compute/observe/observation.ts";

/**
 * Read replicas that an earlier apply may have created for this Compute, if the service has not shown yet that it keeps
 * names: without a name, on the same branch, and not claimed by a manifest. (The service itself refuses a second
 * primary.)
 */
export function unownedReplicasLike(o: Observed): string[] {
  if (o.kind !== "observed" || o.compute.spec.type !== "read_only") return [];
  const { compute, claimants, endpoints, markers } = o;
  if (markers === "shown" || endpoints.all.some(({ name }) => name !== undefined)) return [];
  return endpoints.all
    .filter(({ branch_id, type }) => branch_id === compute.spec.branchID && type === "read_only")
    .filter((endpoint) => ownerOf(endpoint, claimants, endpoints) === undefined)
    .map(({ id }) => id)
    .toSorted();
}
