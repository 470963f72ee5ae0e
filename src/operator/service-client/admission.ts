import type { Failure } from "./answer.ts";
import type { RequestBudget } from "./budget.ts";
import type { RequestReservation } from "./request-reservation.ts";

/** Called with the change of the number of requests that block a worker while they wait. */
export type InHand = (more: 1 | -1) => void;

export interface AdmissionOptions {
  budget: RequestBudget;
  /** Called before every request; a failure stops the request (a key known to be revoked). */
  circuitOpen?: () => Failure | undefined;
  /** Aborts when the key or address has changed: nothing more is sent, and requests in flight finish. */
  retired?: AbortSignal;
  /** The signal of the caller. Its requests never wait through a long pause. */
  reservation?: RequestReservation;
  /** Called right before a write is sent: whether the plan behind it is outdated. */
  withdrawn?: () => boolean;
  /** Set if the caller blocks a worker while it waits. */
  inHand?: InHand;
}

/**
 * A longer pause that the service asks for, in milliseconds, is not waited for: the caller would keep a worker from all
 * other objects meanwhile.
 */
const longPauseMs = 5000;

/** The failure of a request that is not sent because of such a pause; the same at every stage. */
export const pauseMessage = "it asked for a pause";

/** Waits for the budget; returns the reason if the request must not be sent after all. */
export async function admission(
  { budget, reservation, circuitOpen, retired, withdrawn, inHand }: AdmissionOptions,
  { method }: { method: string },
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const write = method !== "GET";
  const patienceMs = write || inHand !== undefined ? longPauseMs : Number.POSITIVE_INFINITY;
  const either = retired === undefined ? signal : AbortSignal.any([signal, retired]);
  const taking =
    reservation === undefined
      ? budget.take(write ? "write" : "plan", either, patienceMs)
      : reservation.take(either, longPauseMs);
  const closedForMs = await taking.catch((error: unknown) => {
    if (signal.aborted || retired?.aborted !== true) throw error;
    return undefined;
  });
  if (retired?.aborted === true) {
    return { kind: "superseded", message: "the connection was changed before the request could be sent" };
  }
  if (closedForMs !== undefined) {
    return { kind: "rateLimited", message: pauseMessage, retryAfterMs: closedForMs };
  }
  if (write && withdrawn?.() === true) {
    return { kind: "superseded", message: "it was no longer wanted when it could be sent" };
  }
  return circuitOpen?.();
}
