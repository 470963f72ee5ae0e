import type { ProjectWriteLimiter } from "../../connection/write-limiter.ts";
import type { Answer } from "../../service-client/answer.ts";
import type { RequestReservation } from "../../service-client/request-reservation.ts";

/** What a write waits for; it enqueues the Compute. */
export type Wait = "brake" | "project" | "budget";

/** `--max-deletes-per-minute`. */
export interface Brake {
  /** Whether this deletion may go now; else `ready` is called when it may. `flow` is `tenant/project`. */
  mayGo(caller: { uid: string; flow: string; ready: () => void }): boolean;
  /** Whether no deletion at all may go now. */
  readonly isExhausted: boolean;
  /** This deletion is being sent. */
  count(uid: string): void;
  /** This deletion is not wanted now. */
  leave(uid: string): void;
}

export interface GateOptions {
  uid: string;
  /** The flow that its deletions wait in, as `tenant/project`. */
  flow: string;
  brake: Brake;
  writeLimiter: Pick<ProjectWriteLimiter, "take" | "waitsForBudget" | "sends" | "accepted" | "refused" | "give">;
  reservation: RequestReservation;
  /** Enqueues the Compute. */
  enqueue: () => void;
}

/**
 * What every write passes before anything is read or sent for it, in this order: the deletion brake, its project's
 * write limiter, the request budget. A write that does not pass waits at one of them, without a worker and a timer.
 *
 * A Compute that waits for the budget keeps the write limiter: one write of each project waits there, not all of them.
 * One that waits for the brake keeps nothing, so that other writes of its project go first.
 */
export class Gate {
  /** A write that the service refused with 423 waits for its project here: the Compute is enqueued. */
  readonly enqueuesRefused: boolean = true;
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

  /** The write leaves. */
  sends(): void {
    this.#options.writeLimiter.sends(this.#options.uid);
  }

  /** What the service answered to the write; its operations are followed already. */
  answered({ kind }: Pick<Answer<unknown>, "kind">): void {
    const { uid, writeLimiter } = this.#options;
    if (kind === "ok") writeLimiter.accepted(uid);
    else if (kind === "busy") writeLimiter.refused(uid);
  }

  /** Whether a write waits: then nothing else is sent for this Compute. */
  get isWaiting(): boolean {
    return this.#waitsFor !== undefined;
  }

  /** The reconcile is over: what no write waits with is given back. */
  end(): void {
    const { uid, brake, writeLimiter, reservation } = this.#options;
    reservation.end();
    if (this.#waitsFor !== "budget") writeLimiter.give(uid);
    if (this.#waitsFor === undefined) brake.leave(uid);
  }

  #tryPass(write: "deletion" | "other"): Wait | undefined {
    const { uid, flow, brake, writeLimiter, reservation, enqueue } = this.#options;
    // If the brake lets deletions go but not this one, another of its project goes first.
    if (write === "deletion" && !brake.mayGo({ uid, flow, ready: enqueue }))
      return brake.isExhausted ? "brake" : "project";
    if (!writeLimiter.take(uid, flow)) return "project";
    if (reservation.tryTake("write")) return undefined;
    writeLimiter.waitsForBudget(uid);
    return "budget";
  }
}
