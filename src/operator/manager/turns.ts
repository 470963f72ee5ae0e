import type { Change } from "../kube/store.ts";
import { readyLabel, shownReason } from "../objects/conditions-of.ts";
import type { Compute } from "../resources/compute.ts";
import { indexOf, maxUnavailableOf, owningPool } from "../resources/compute-pool.ts";
import type { Informers } from "./informers.ts";

/** True if a change of a Compute may let siblings change that waited for it. */
export function isNewsForSiblings({ type, object, previous }: Change<Compute>): boolean {
  return type !== "updated" || previous === undefined || readyLabel(object) !== readyLabel(previous);
}

/** The siblings to enqueue once a Compute no longer keeps them from changing: as many of those that wait as may go. */
export function nextInTurn(compute: Compute, { pools, indexes }: Informers): Compute[] {
  const pool = pools.byUid(owningPool(compute)?.uid ?? "");
  if (pool === undefined) return [];
  const isWaiting = (one: Compute) => shownReason(one) === "WaitingForTurn" && indexOf(pool, one) !== undefined;
  const waiting = indexes.members.of(pool.metadata.uid, isWaiting);
  return [...waiting].slice(0, maxUnavailableOf(pool));
}
