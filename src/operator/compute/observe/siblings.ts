import { type EndpointIndex, recordedID } from "../../claims/ownership.ts";
import { isTrue } from "../../objects/conditions-of.ts";
import type { Compute } from "../../resources/compute.ts";
import { type ComputePool, indexOf, maxUnavailableOf, owningPool } from "../../resources/compute-pool.ts";
import type { ReadonlyState } from "../memory.ts";
import type { Siblings } from "./observation.ts";

export interface Members {
  pool: (uid: string) => ComputePool | undefined;
  /** The Computes that a pool owns, as cached. */
  membersOf: (poolUID: string) => Iterable<Compute>;
  /** Memory of a Compute in this term; `undefined`: it has none. */
  known: (uid: string) => ReadonlyState | undefined;
  /** Time at which this term of leadership began, in monotonic milliseconds. */
  termSince: number;
  /** True if a member counts as ready; without: as its status says. */
  isReady?: (member: Compute) => boolean;
}

/** The other members of the pool that owns a Compute; `undefined`: it is no member. */
export function siblingsOf(
  compute: Compute,
  { pool: poolOf, membersOf, known, termSince, isReady = showsReady }: Members,
): Siblings | undefined {
  const pool = poolOf(owningPool(compute)?.uid ?? "");
  const index = pool && indexOf(pool, compute);
  if (pool === undefined || index === undefined) return undefined;
  const { replicas } = pool.spec;
  return {
    pool: pool.metadata.name,
    maxUnavailable: maxUnavailableOf(pool),
    termSince,
    unavailable: (endpoints) => {
      // A replica that is missing serves nobody, as one that somebody deleted.
      let count = index < replicas ? replicas - 1 : replicas;
      for (const member of membersOf(pool.metadata.uid)) {
        const isOther = member.metadata.uid !== compute.metadata.uid;
        const isWanted = (indexOf(pool, member) ?? replicas) < replicas;
        if (isOther && isWanted && isReady(member) && !isBeingCut(member, known, endpoints)) count--;
      }
      return count;
    },
  };
}

function showsReady({ status }: Compute): boolean {
  return isTrue(status, "Ready");
}

function isBeingCut(member: Compute, known: Members["known"], endpoints: EndpointIndex): boolean {
  if (known(member.metadata.uid)?.cutAt !== undefined) return true;
  const pending = endpoints.byID(recordedID(member) ?? "")?.pending_state;
  // A suspended compute has no connections to cut.
  return pending !== undefined && pending !== "idle";
}
