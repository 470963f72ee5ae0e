import type { Failure } from "./answer.ts";
import type { RequestBudget } from "./budget.ts";
import type { Priority } from "./priority.ts";

/**
 * The requests of one caller. The first is taken from the budget before the caller starts work that needs it, so that a
 * reconcile which finds the budget empty releases its worker and is enqueued when it is its turn.
 */
export class RequestReservation {
  readonly #budget: RequestBudget;
  readonly #who: unknown;
  readonly #ready: () => void;
  readonly #tenant: string;
  readonly #mayCome: (() => boolean) | undefined;
  #begun = false;
  #taken = false;
  #waits = false;

  /** `ready` is called when it is the turn of `who`, who could not send before, if they `mayCome` then. */
  constructor(budget: RequestBudget, who: unknown, ready: () => void, tenant = "", mayCome?: () => boolean) {
    this.#budget = budget;
    this.#who = who;
    this.#ready = ready;
    this.#tenant = tenant;
    this.#mayCome = mayCome;
  }

  /** Takes the first request, or has the caller called for it. A caller that has started may continue. */
  tryTake(priority: Priority): boolean {
    if (this.#begun) return true;
    this.#begun = this.#taken = this.#budget.tryTake(priority, this.#who, this.#ready, this.#tenant, this.#mayCome);
    this.#waits = !this.#begun;
    return this.#begun;
  }

  /** About how long the caller still waits, in milliseconds. */
  get waitMs(): number {
    return this.#budget.waitOf(this.#who);
  }

  /** Time for which nothing may be sent because the service asked for a pause, in milliseconds. */
  get closedForMs(): number {
    return this.#budget.closedForMs;
  }

  /** See the budget. Further requests go first, because their caller blocks a worker. */
  take(signal: AbortSignal, patienceMs: number): Promise<number | undefined> {
    if (this.#taken && this.#budget.closedForMs === 0) {
      this.#taken = false;
      return Promise.resolve(undefined);
    }
    return this.#budget.take("write", signal, patienceMs, this.#tenant);
  }

  /** The caller is finished for now: a request that it took and did not send goes to others. */
  end(): void {
    if (this.#taken) this.#budget.giveBack();
    this.#taken = false;
    if (!this.#waits) this.#budget.leave(this.#who);
  }
}

/** Called with the change of the number of requests that block a worker while they wait. */
export type ChangeBlockedWorkers = (more: 1 | -1) => void;

export interface AdmissionOptions {
  budget: RequestBudget;
  /** Called before every request; a failure stops the request (a key known to be revoked). */
  circuitOpen?: () => Failure | undefined;
  /** Aborts when the key or address has changed: nothing more is sent, and requests in flight finish. */
  retired?: AbortSignal;
  /** The signal of the caller. Its requests never wait through a long pause. */
  reservation?: RequestReservation;
  /** Called right before a write is sent; an error stops the write (leadership). */
  beforeWrite: () => void;
  /** Called last before a write is sent: whether the plan behind it is outdated. If not, the write is sent. */
  withdrawn?: () => boolean;
  /** Set if the caller blocks a worker while it waits. */
  changeBlockedWorkers?: ChangeBlockedWorkers | undefined;
}

/**
 * A longer pause that the service asks for, in milliseconds, is not waited for: the caller would keep a worker from all
 * other objects meanwhile.
 */
export const longPauseMs = 5000;

/** The failure of a request that is not sent because of such a pause; the same at every stage. */
export const pauseMessage = "it asked for a pause";

/** Waits for the budget; returns the reason if the request must not be sent after all, and then takes nothing. */
export async function admission(
  options: AdmissionOptions,
  { method }: { method: string },
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const { budget, reservation, retired } = options;
  const write = method !== "GET";
  const either = retired === undefined ? signal : AbortSignal.any([signal, retired]);
  const taking =
    reservation === undefined
      ? budget.take(write ? "write" : "plan", either, write ? longPauseMs : Number.POSITIVE_INFINITY)
      : reservation.take(either, longPauseMs);
  const taken = await taking.then(
    (closedForMs) => ({ closedForMs }),
    (error: unknown) => {
      if (signal.aborted || retired?.aborted !== true) throw error;
      return undefined;
    },
  );
  if (taken === undefined) return superseded;
  const { closedForMs } = taken;
  if (closedForMs !== undefined) {
    return retired?.aborted === true
      ? superseded
      : { kind: "rateLimited", message: pauseMessage, retryAfterMs: closedForMs };
  }
  let isSent = false;
  try {
    signal.throwIfAborted();
    const obstacle = obstacleTo(write, options);
    isSent = obstacle === undefined;
    return obstacle;
  } finally {
    if (!isSent) budget.giveBack();
  }
}

const superseded: Failure = {
  kind: "superseded",
  message: "the connection was changed before the request could be sent",
};

/** `withdrawn` comes last, since what it asks counts the write as sent. */
function obstacleTo(
  write: boolean,
  { retired, circuitOpen, beforeWrite, withdrawn }: AdmissionOptions,
): Failure | undefined {
  if (retired?.aborted === true) return superseded;
  const closed = circuitOpen?.();
  if (closed !== undefined || !write) return closed;
  beforeWrite();
  if (withdrawn?.() !== true) return undefined;
  return { kind: "superseded", message: "it was no longer wanted when it could be sent" };
}
