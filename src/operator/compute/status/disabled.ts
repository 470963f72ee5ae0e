import type { Endpoint } from "../../../api/endpoint.ts";
import type { ComputeStatus } from "../../resources/compute-status.ts";
import type { Outcome } from "../outcome.ts";
import { reasons } from "./reasons.ts";

/** What the status says, after a reconcile, of this operator having disabled the endpoint. */
export function disablingAfter(
  endpoint: Endpoint,
  outcome: Outcome,
  made: boolean,
): Pick<ComputeStatus, "disabledByUs" | "unansweredDisables"> {
  const unanswered = unansweredAfter(endpoint, outcome);
  return {
    disabledByUs: isDisabledByUs(endpoint, outcome, made, unanswered) ? true : undefined,
    unansweredDisables: unanswered === 0 ? undefined : unanswered,
  };
}

/** How many PATCHes that disable may still take effect: the only one has, where the endpoint is seen disabled. */
function unansweredAfter(endpoint: Endpoint, { compute, unansweredDisables }: Outcome): number {
  if (unansweredDisables !== undefined) return unansweredDisables;
  const before = compute.status.unansweredDisables ?? 0;
  return before === 1 && endpoint.disabled === true ? 0 : before;
}

/**
 * Whether this operator disabled the endpoint: noted before the write is sent, so that a lost reply or a crash loses
 * nothing; over once the write is refused, or the endpoint is seen enabled and no unanswered write can disable it any
 * more. A lost status is made up for where this operator made the endpoint and the spec asks for disabled; one that was
 * found disabled is another's decision.
 */
function isDisabledByUs(
  endpoint: Endpoint,
  { compute, condition, disabledByUs }: Outcome,
  made: boolean,
  unanswered: number,
): boolean {
  if (disabledByUs !== undefined) return disabledByUs;
  const { status, spec } = compute;
  if (status.disabledByUs !== true) {
    const isFirstSeen = status.endpointID !== endpoint.id;
    return isFirstSeen && made && spec.disabled === true && endpoint.disabled === true;
  }
  // While a change is under way, lists may lag behind it.
  const settled = condition.kind === "shown" && reasons[condition.reason].ready === "True";
  return !(settled && endpoint.disabled === false && unanswered === 0);
}
