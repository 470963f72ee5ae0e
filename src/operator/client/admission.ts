import type { Clock } from "../runtime/clock.ts";
import type { Failure } from "./answer.ts";
import type { RequestBudget } from "./budget.ts";

export interface AdmissionOptions {
  budget: RequestBudget;
  clock: Clock;
  /** Asked before any request; an answer keeps the request at home (a key known to be revoked). */
  heldBack?: () => Failure | undefined;
  /** Aborts when nothing more is to be sent: key or address have changed. What is under way is brought to its end. */
  retired?: AbortSignal;
  /** A request waited so many seconds for the budget. */
  onBudgetWait?: (seconds: number) => void;
}

/**
 * A pause that the service asks for and that is longer, in milliseconds, is not waited for with a request in hand: its
 * caller would keep a worker from everybody else's objects meanwhile.
 */
const longPauseMs = 5000;

/** Waits for the budget; answers why a request is not to be sent after all. `patient` waits for however long. */
export async function admission(
  { budget, clock, heldBack, retired, onBudgetWait }: AdmissionOptions,
  patient: boolean,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const askedAt = clock.monotonic();
  const either = retired === undefined ? signal : AbortSignal.any([signal, retired]);
  const taking = budget.take(either, patient ? Number.POSITIVE_INFINITY : longPauseMs);
  const closedForMs = await taking.catch((error: unknown) => {
    if (signal.aborted || retired?.aborted !== true) throw error;
    return undefined;
  });
  if (retired?.aborted === true) {
    return { kind: "superseded", message: "the connection was changed before the request could be sent" };
  }
  onBudgetWait?.((clock.monotonic() - askedAt) / 1000);
  if (closedForMs !== undefined) {
    const message = "the service asked for a pause, and nothing is sent until it is over";
    return { kind: "rateLimited", message, retryAfterMs: closedForMs };
  }
  return heldBack?.();
}
