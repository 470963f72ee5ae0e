import type { Outcome } from "../../../src/operator/compute/outcome.ts";
import type { ReconcileState } from "../../../src/operator/compute/reconcile-state.ts";
import { reasons } from "../../../src/operator/compute/words/reasons.ts";
import { dueAfter } from "../../../src/operator/life/due.ts";

/** The delay until the next reconcile, as the life of Computes asks for it. */
export function requeueAfter(state: ReconcileState, outcome: Outcome, at: number): number | undefined {
  return dueAfter(outcome, reasons, state, at, state.known.held?.dueAt ?? Number.POSITIVE_INFINITY);
}
