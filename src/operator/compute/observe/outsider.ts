import { hadNothingAt } from "../../claims/claims.ts";
import type { SessionRegistry } from "../../connection/registry.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import type { Compute } from "../../resources/compute.ts";
import { rowOf } from "../words/reasons.ts";

/**
 * True if nothing shows that a Compute's connection reaches the project, and it never had, or tried to make, anything
 * there: it claims nothing, or anybody could keep others from their branches by naming them, with no key at all. What
 * it had at another service, before its connection was changed, counts for nothing.
 */
export function isOutsider(
  compute: Compute,
  connections: Pick<SessionRegistry, "baseURLOf" | "isUnreachable" | "reachedThrough">,
): boolean {
  if (!hadNothingAt(connections.baseURLOf(compute), compute)) return false;
  // A wrong caBundle can name any service and reach none, so such a connection blocks nobody.
  if (connections.isUnreachable(compute)) return true;
  const reason = shownReason(compute);
  const reaches = reason === undefined ? "first" : rowOf(reason)?.reaches;
  return reaches === "no" || (reaches === "first" && connections.reachedThrough(compute) === undefined);
}
