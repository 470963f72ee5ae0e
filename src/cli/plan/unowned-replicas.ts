import { ownerOf } from "../../operator/compute/observe/claims.ts";
import type { PlanInput } from "../../operator/compute/observe/plan-input.ts";

/**
 * Read replicas that an earlier apply may have made for this Compute, where the service has not shown yet that it
 * keeps names: nameless, on the same branch, and no manifest's. (A second primary the service itself refuses.)
 */
export function unownedReplicasLike({ compute, observation, claimants }: PlanInput): string[] {
  if (observation.kind !== "listed" || compute.spec.type !== "read_only") return [];
  const { endpoints, markers } = observation.list;
  if (markers === "shown" || endpoints.all.some(({ name }) => name !== undefined)) return [];
  return endpoints.all
    .filter(({ branch_id, type }) => branch_id === compute.spec.branchID && type === "read_only")
    .filter((endpoint) => ownerOf(endpoint, claimants, endpoints) === undefined)
    .map(({ id }) => id)
    .toSorted();
}
