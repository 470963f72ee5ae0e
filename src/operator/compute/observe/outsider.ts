import { hadNothingAt } from "../../claims/claims.ts";
import { isOutOfReach, type Reach } from "../../life/out-of-reach.ts";
import type { Compute } from "../../resources/compute.ts";
import { reasons } from "../words/reasons.ts";

/**
 * True if a Compute claims nothing: its connection reaches nothing, and it never had, or tried to make, anything there.
 * Endpoints at another service, from before its connection was changed, do not count.
 */
export function isOutsider(compute: Compute, connections: Reach): boolean {
  return hadNothingAt(connections.baseURLOf(compute), compute) && isOutOfReach(compute, reasons, connections);
}
