import { type Endpoint, hasUnreadableName } from "../../api/endpoint.ts";
import { holderOf } from "../claims/claims.ts";
import { endpointNamedBy } from "../claims/ownership.ts";
import { branchIDOf, type Compute, type WriteRecord } from "../resources/compute.ts";
import { uidInSignature } from "../resources/signature.ts";
import type { Observation } from "./observe/observation.ts";

// Endpoints without a readable name that an open create may have made. Nothing guesses which: a name, a person or time
// beside newer signatures decides.

/** The record in question, and when lists first showed each candidate beside a newer signature. */
interface Search {
  record: WriteRecord;
  firstShown: ReadonlyMap<string, number>;
}

/** A candidate that stays nameless for this long, in milliseconds, beside newer signatures is not what was sent. */
const staysNamelessMs = 60_000;

const none: ReadonlyMap<string, number> = new Map();

/**
 * Endpoints that the create may have made, by all but their names: of the type, on the branch of record or spec, not
 * older than what was there before, nobody's, and not long nameless beside newer signatures.
 */
export function candidatesOf(o: Observation, write: Search): Endpoint[] {
  const { record, firstShown } = write;
  const { compute, endpoints, claimants, startedAt } = o;
  if (record.operation !== "create") return [];
  const branches = [record.branchID, branchIDOf(compute)];
  const isNewerSigned = showsNewerSignature(o, record);
  return endpoints.all.filter((endpoint) => {
    if (endpoint.type !== compute.spec.type || !branches.includes(endpoint.branch_id)) return false;
    if (!isNameless(endpoint) || !isSince(endpoint, record.newest)) return false;
    const firstSeenAt = firstShown.get(endpoint.id);
    if (isNewerSigned && firstSeenAt !== undefined && startedAt - firstSeenAt >= staysNamelessMs) return false;
    const holder = holderOf(endpoint, claimants, endpoints);
    return holder === undefined || holder.metadata.uid === compute.metadata.uid;
  });
}

/**
 * The candidate that `spec.adopt` names: a person decided. `branchPrimary` names one only where all candidates are on
 * the branch of the spec.
 */
export function chosenAmong(candidates: readonly Endpoint[], compute: Compute): Endpoint | undefined {
  const { adopt, type } = compute.spec;
  if (adopt === undefined) return undefined;
  const named = candidates.find(({ id }) => id === endpointNamedBy(compute));
  if (named !== undefined || type !== "read_write" || !("branchPrimary" in adopt)) return named;
  return candidates.every(({ branch_id }) => branch_id === branchIDOf(compute)) ? candidates[0] : undefined;
}

/** Since which list each candidate has been nameless beside a signature on another endpoint made since. */
export function namelessIn(write: Search, o: Observation): ReadonlyMap<string, number> {
  const candidates = candidatesOf(o, { ...write, firstShown: none });
  if (candidates.length === 0) return none;
  if (!showsNewerSignature(o, write.record)) return write.firstShown;
  return new Map(candidates.map(({ id }) => [id, write.firstShown.get(id) ?? o.startedAt]));
}

/** True if a list shows the name of an endpoint that was made since the create was planned. */
function showsNewerSignature({ endpoints }: Observation, { newest }: WriteRecord): boolean {
  return endpoints.all.some(({ name, created_at }) => {
    if (uidInSignature(name) === undefined) return false;
    return newest === undefined || (created_at !== undefined && Date.parse(created_at) > Date.parse(newest));
  });
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
