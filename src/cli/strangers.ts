import { ownerOf } from "../operator/compute/observe/claims.ts";
import type { View } from "../operator/compute/observe/view.ts";

/**
 * Read replicas that an earlier apply may have made for this Compute, where the service has not shown yet that it
 * keeps names: nameless, on the same branch, and no manifest's. (A second primary the service itself refuses.)
 */
export function strangersLike({ compute, sight, rivals }: View): string[] {
  if (sight.kind !== "listed" || compute.spec.type !== "read_only") return [];
  const { endpoints, markers } = sight.list;
  if (markers === "shown" || endpoints.all.some(({ name }) => name !== undefined)) return [];
  return endpoints.all
    .filter(({ branch_id, type }) => branch_id === compute.spec.branchID && type === "read_only")
    .filter((endpoint) => ownerOf(endpoint, rivals, endpoints) === undefined)
    .map(({ id }) => id)
    .toSorted();
}
