import type { ProjectWriteLimiter } from "../../connection/write-limiter.ts";
import type { RequestReservation } from "../../service-client/request-reservation.ts";

/** What a write waits for; the Compute is enqueued when its turn comes. */
export type Wait = "brake" | "turn" | "budget";

/** `--max-deletes-per-minute`. */
export interface Brake {
  /** Whether this deletion may go now; else `ready` is called when it may. `lane` is `tenant/project`. */
  mayGo(caller: { uid: string; lane: string; ready: () => void }): boolean;
  /** Whether no deletion at all may go now. */
  readonly isExhausted: boolean;
  /** This deletion is being sent. */
  count(uid: string): void;
  /** This deletion is not wanted now. */
  leave(uid: string): void;
}

export interface GateOptions {
  uid: string;
  /** Which lane its deletions wait in, as `tenant/project`. */
  lane: string;
  brake: Brake;
  turn: ProjectWriteLimiter;
  reservation: RequestReservation;
  /** Enqueues the Compute. */
  enqueue: () => void;
}

/**
 * What every write passes before anything is read or sent for it, in this order: the deletion brake, its project's turn
 * to write, the request budget. A write that does not pass waits at one of them, without a worker and without a timer.
 *
 * A Compute that waits for the budget keeps the turn: one write of each project waits there, and not all of them. One
 * that waits for the brake keeps nothing, so that other writes of its project go first.
 */
export class Gate {
  readonly #options: GateOptions;
  #waitsFor: Wait | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** `undefined`: the write may be sent now, and a deletion counts as sent. Else what it waits for. */
  pass(write: "deletion" | "other"): Wait | undefined {
    const { uid, brake } = this.#options;
    this.#waitsFor = this.#tryPass(write);
    if (write === "other") brake.leave(uid);
    else if (this.#waitsFor === undefined) brake.count(uid);
    return this.#waitsFor;
  }

  /** Whether a write waits: then nothing else is sent for this Compute. */
  get isWaiting(): boolean {
    return this.#waitsFor !== undefined;
  }

  /** The reconcile is over: nothing is kept that no write waits with. */
  end(): void {
    const { uid, brake, turn, reservation } = this.#options;
    reservation.end();
    if (this.#waitsFor !== "budget") turn.give(uid);
    if (this.#waitsFor === undefined) brake.leave(uid);
  }

  #tryPass(write: "deletion" | "other"): Wait | undefined {
    const { uid, lane, brake, turn, reservation, enqueue } = this.#options;
    // Where the brake lets deletions go and not this one, another of its project is on its way.
    if (write === "deletion" && !brake.mayGo({ uid, lane, ready: enqueue }))
      return brake.isExhausted ? "brake" : "turn";
    if (!turn.take(uid)) return "turn";
    return reservation.tryTake("write") ? undefined : "budget";
  }
}
