import type { Endpoint } from "../../../api/endpoint.ts";
import { conditionOf } from "../../resources/conditions-of.ts";
import type { Outcome } from "../outcome.ts";
import type { ReconcileState } from "../state.ts";
import { serviceUnavailable } from "./messages/failures.ts";
import { reasons } from "./reasons.ts";

/** How many fields are named, and how much of each name: they are the service's own. */
const mostNamed = 5;
const longestName = 60;

/** Says what the service shows of an endpoint in a form that cannot be read: with each condition, and once as event. */
export function withUnreadable(outcome: Outcome, endpoint: Endpoint | undefined, memory: ReconcileState): Outcome {
  const { compute, condition } = outcome;
  const unreadable = endpoint?.unreadable ?? [];
  if (condition.kind === "unchanged" || reasons[condition.reason].ready !== "True") return outcome;
  if (unreadable.length === 0) {
    delete memory.unreadable;
    return outcome;
  }
  const sentence = serviceUnavailable.leftOut(inWords(unreadable));
  const isTold = memory.unreadable === sentence || conditionOf(compute.status, "Ready")?.message?.includes(sentence);
  memory.unreadable = sentence;
  const note = { type: "Warning", reason: "ServiceUnavailable", message: sentence } as const;
  return {
    ...outcome,
    condition: { ...condition, message: `${condition.message} ${sentence}` },
    notes: isTold === true ? outcome.notes : [...outcome.notes, note],
  };
}

function inWords(fields: readonly string[]): string {
  const named = fields.slice(0, mostNamed).map((name) => name.slice(0, longestName));
  return [...named, ...(fields.length > mostNamed ? ["more"] : [])].join(", ");
}
