import type { Clock } from "../runtime/clock.ts";
import type { Failure } from "./answer.ts";
import type { RequestBudget } from "./budget.ts";
import type { Fare } from "./fare.ts";

/** Told how many requests are waited for with a pass in hand: such a pass does nothing meanwhile. */
export type InHand = (more: 1 | -1) => void;

export interface AdmissionOptions {
  budget: RequestBudget;
  clock: Clock;
  /** Asked before any request; an answer keeps the request at home (a key known to be revoked). */
  heldBack?: () => Failure | undefined;
  /** Aborts when nothing more is to be sent: key or address have changed. What is under way is brought to its end. */
  retired?: AbortSignal;
  /** Of the pass that the request is made for; such a request is never waited for through a long pause. */
  fare?: Fare;
  /** Asked right before a write is sent: whether whoever it was planned for no longer wants it. */
  withdrawn?: () => boolean;
  /** Whoever asks has a pass in hand, and others wait for its end; left out: nobody does. */
  inHand?: InHand;
  /** A request waited so many seconds for the budget. */
  onBudgetWait?: (seconds: number) => void;
}

/**
 * A pause that the service asks for and that is longer, in milliseconds, is not waited for with a request in hand: its
 * caller would keep a worker from everybody else's objects meanwhile.
 */
const longPauseMs = 5000;

/** Reads that keep no worker from other objects while they wait, unless a pass asks. */
const readBesideWork = ["/projects/{p}/endpoints", "/projects/{p}/operations", "/projects", "/auth"];

/** Waits for the budget; answers why a request is not to be sent after all. */
export async function admission(
  { budget, fare, clock, heldBack, retired, withdrawn, inHand, onBudgetWait }: AdmissionOptions,
  { method, route }: { method: string; route: string },
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const write = method !== "GET";
  const patient = !write && inHand === undefined && fare === undefined && readBesideWork.includes(route);
  const askedAt = clock.monotonic();
  const either = retired === undefined ? signal : AbortSignal.any([signal, retired]);
  const taking = (fare ?? budget).take(either, patient ? Number.POSITIVE_INFINITY : longPauseMs);
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
  if (write && withdrawn?.() === true) {
    return { kind: "superseded", message: "it was no longer wanted when it could be sent" };
  }
  return heldBack?.();
}
