import type { Endpoint } from "../../../api/endpoint.ts";
import type { Outcome } from "../outcome.ts";
import { reasons } from "../reasons.ts";

/**
 * Whether this operator disabled the endpoint: noted before the write is sent, so that a lost reply or a crash loses
 * nothing; over once the write is refused, or the endpoint is seen enabled. A lost status is made up for where this
 * operator made the endpoint and the spec asks for disabled; one that was found disabled is another's decision.
 */
export function isDisabledByUs(
  endpoint: Endpoint,
  { compute, verdict, disabledByUs }: Outcome,
  made: boolean,
): boolean {
  if (disabledByUs !== undefined) return disabledByUs;
  const { status, spec } = compute;
  if (status.disabledByUs !== true) {
    const isFirstSeen = status.endpointID !== endpoint.id;
    return isFirstSeen && made && spec.disabled === true && endpoint.disabled === true;
  }
  // While a change is under way, lists may lag behind it.
  const settled = verdict.kind === "shown" && reasons[verdict.reason].ready === "True";
  return !(settled && endpoint.disabled === false);
}
