import { type Endpoint, hasUnreadableName } from "../../api/endpoint.ts";
import { holderOf } from "../claims/claims.ts";
import { endpointNamedBy } from "../claims/ownership.ts";
import { branchIDOf, type Compute, type WriteRecord } from "../resources/compute.ts";
import type { Observation } from "./observe/observation.ts";

// Endpoints without a readable name that an open create may have made. Nothing guesses which: a name or a person
// decides.

/**
 * Endpoints that the create may have made, by all but their names: of the type, on the branch of record or spec, not
 * older than what was there before, and nobody's.
 */
export function candidatesOf(o: Observation, { record }: { record: WriteRecord }): Endpoint[] {
  const { compute, endpoints, claimants } = o;
  if (record.operation !== "create") return [];
  const branches = [record.branchID, branchIDOf(compute)];
  return endpoints.all.filter((endpoint) => {
    if (endpoint.type !== compute.spec.type || !branches.includes(endpoint.branch_id)) return false;
    if (!isNameless(endpoint) || !isSince(endpoint, record.newest)) return false;
    const holder = holderOf(endpoint, claimants, endpoints);
    return holder === undefined || holder.metadata.uid === compute.metadata.uid;
  });
}

/**
 * The candidate that `spec.adopt` names: a person decided. `branchPrimary` decides only where all are on the branch of
 * the spec: of one that the create may have made on another branch it says nothing.
 */
export function chosenAmong(candidates: readonly Endpoint[], compute: Compute): Endpoint | undefined {
  const { adopt, type } = compute.spec;
  if (adopt === undefined) return undefined;
  const named = candidates.find(({ id }) => id === endpointNamedBy(compute));
  if (named !== undefined || type !== "read_write" || !("branchPrimary" in adopt)) return named;
  return candidates.every(({ branch_id }) => branch_id === branchIDOf(compute)) ? candidates[0] : undefined;
}

function isNameless(endpoint: Endpoint): boolean {
  return endpoint.name === undefined || hasUnreadableName(endpoint);
}

/** Both times are the service's own; without one of them nothing is excluded. */
function isSince({ created_at }: Endpoint, newest: string | undefined): boolean {
  if (created_at === undefined || newest === undefined || newest === "") return true;
  return Date.parse(created_at) >= Date.parse(newest);
}

/** The latest `created_at` of a list, by the service's clock. */
export function newestIn(endpoints: readonly Endpoint[]): string | undefined {
  return endpoints.reduce<string | undefined>(
    (newest, { created_at }) => (created_at !== undefined && created_at > (newest ?? "") ? created_at : newest),
    undefined,
  );
}
