import type { Inventory } from "../plan/inventory.ts";
import type { Leaving } from "../plan/tracked.ts";

/** The event that a change which is left for later waits for. */
export type Awaited = "a window" | "their turn";

/** Result of one round for an object: a write was sent, it waits, or it has come to its end. */
export interface Round {
  wrote: boolean;
  /** `waits`: the event that a change waits for which this command leaves. */
  end?: { ok: boolean; said: string; waits?: Awaited };
  said?: string;
}

export interface RoundContext {
  inventory: Inventory;
  /** True if no write of the object's project was sent in this round. */
  mayWrite: boolean;
  /** The objects that have not come to their end. */
  open: Leaving;
}

/** The same write is given up after this many failures in a row. */
const mostFailures = 8;

/** True if a failed write may be sent again. One that was only put off did nothing: only --timeout ends its retries. */
export function isSentAgain({ reason, failures }: { reason: string; failures: number }): boolean {
  return reason === "ProjectBusy" || reason === "RateLimited" || failures + 1 < mostFailures;
}

export const wordsOf = ({ reason, message }: { reason: string; message: string }) => `${reason}: ${message}`;

/** The end of an object for which nothing was sent in this round. */
export function ended(ok: boolean, said: string): Round {
  return { wrote: false, end: { ok, said } };
}

/** The round of a write that failed: it is sent again, or the object has come to its end. */
export function failedWrite(said: string, isAgain: boolean): Round {
  return isAgain ? { wrote: true, said } : { wrote: true, end: { ok: false, said } };
}
