import type { Endpoint } from "../../../api/endpoint.ts";
import { compare, desiredSpec, isDeprecated } from "../../fields/compare.ts";
import { conditionOf } from "../../objects/conditions-of.ts";
import type { Compute } from "../../resources/compute.ts";
import type { Outcome } from "../outcome.ts";
import type { ReconcileState } from "../reconcile-state.ts";
import { hiddenDeprecated, unknownZones } from "../words/conditions.ts";
import { serviceUnavailable } from "../words/failures.ts";
import { reasons } from "../words/reasons.ts";

/** Number of fields that are named, and the length of each name: they are the service's own. */
const mostNamed = 5;
const longestName = 60;

/**
 * Reports what the service shows of an endpoint in a form that cannot be read, and deprecated fields of the spec that
 * it does not show, and time zones that are not known here: in the conditions, and in one event.
 */
export function withUnreadable(
  outcome: Outcome,
  endpoint: Endpoint | undefined,
  state: ReconcileState,
  zones: readonly string[] = [],
): Outcome {
  const { compute, condition, events } = outcome;
  const unreadable = endpoint?.unreadable ?? [];
  const hidden = endpoint === undefined ? [] : hiddenFields(compute, endpoint);
  if (condition.kind !== "shown" || reasons[condition.reason].ready !== "True") return outcome;
  const odd = unreadable.length === 0 ? [] : [serviceUnavailable.leftOut(inWords(unreadable))];
  const unknown = zones.length === 0 ? [] : [unknownZones(zones)];
  const sentences = [...odd, ...(hidden.length === 0 ? [] : [hiddenDeprecated(inWords(hidden))]), ...unknown];
  const sentence = sentences.length === 0 ? undefined : sentences.join(" ");
  const earlier = state.known.told.unreadable;
  state.reportedUnreadable(sentence);
  if (sentence === undefined) return outcome;
  const isReported = earlier === sentence || conditionOf(compute.status, "Ready")?.message?.includes(sentence) === true;
  const reason = odd.length > 0 ? "ServiceUnavailable" : hidden.length > 0 ? "Drifted" : "WaitingForWindow";
  const event = { type: "Warning", reason, message: sentence } as const;
  return {
    ...outcome,
    condition: { ...condition, message: `${condition.message} ${sentence}` },
    events: isReported ? events : [...events, event],
  };
}

function hiddenFields(compute: Compute, endpoint: Endpoint): string[] {
  return compare(desiredSpec(compute), endpoint)
    .notReturned.filter(isDeprecated)
    .map(({ field }) => field);
}

function inWords(fields: readonly string[]): string {
  const named = fields.slice(0, mostNamed).map((name) => name.slice(0, longestName));
  return [...named, ...(fields.length > mostNamed ? ["more"] : [])].join(", ");
}
