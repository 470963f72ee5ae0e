import type { Answer } from "../service-client/answer.ts";
import type { RequestReservation } from "../service-client/request-reservation.ts";
import type { DeletionBrake } from "./deletion-brake.ts";
import type { ProjectWriteLimiter } from "./write-limiter.ts";

/** A queue in which a write waits; it enqueues the Compute. */
export type Wait = "brake" | "project" | "budget";

/** `--max-deletes-per-minute`, as a gate asks it. */
export type Brake = Pick<DeletionBrake, "mayGo" | "isExhausted" | "count" | "sent" | "leave">;

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
 * The gate that every write passes before anything is read or sent for it, in this order: the deletion brake, its
 * project's write limiter, the request budget. A write that does not pass waits at one of them, without a worker and a
 * timer.
 *
 * A Compute that waits for the budget keeps the write limiter: one write of each project waits there, not all of them.
 * One that waits for the brake keeps nothing, so that other writes of its project go first.
 */
export class Gate {
  readonly #options: GateOptions;
  #waitsFor: Wait | undefined;
  #isDeletion = false;
  #isRefused = false;
  #isAtLimiter = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** `undefined`: the write may be sent now, and a deletion counts as sent. Else what it waits for. */
  pass(write: "deletion" | "other"): Wait | undefined {
    const { uid, brake } = this.#options;
    this.#waitsFor = this.#tryPass(write);
    this.#isDeletion = write === "deletion";
    if (write === "other") brake.leave(uid);
    else if (this.#waitsFor === undefined) brake.count(uid);
    return this.#waitsFor;
  }

  /** The write leaves now; returns whether it may. */
  sends(): boolean {
    const { uid, brake, writeLimiter } = this.#options;
    if (!writeLimiter.sends(uid)) return false;
    if (this.#isDeletion) brake.sent(uid);
    return true;
  }

  /** Takes in the service's answer to the write; its operations are followed already. */
  answered({ kind }: Pick<Answer<unknown>, "kind">): void {
    const { uid, writeLimiter } = this.#options;
    this.#isRefused = kind === "busy";
    if (kind === "ok") writeLimiter.accepted(uid);
    else if (this.#isRefused) writeLimiter.refused(uid);
  }

  /** The service refused the write with 423: it waits for its project here, and the Compute is enqueued. */
  get waitsAgain(): boolean {
    return this.#isRefused;
  }

  /** True while a write waits: then nothing else is sent for this Compute. */
  get isWaiting(): boolean {
    return this.#waitsFor !== undefined;
  }

  /** The reconcile is over: what no write waits with is given back. */
  end(): void {
    const { uid, brake, writeLimiter, reservation } = this.#options;
    reservation.end();
    // One that waits at the limiter may have been called since: that place is for its next reconcile.
    if (this.#waitsFor !== "budget" && !this.#isAtLimiter) writeLimiter.give(uid);
    if (this.#waitsFor === undefined) brake.leave(uid);
  }

  #tryPass(write: "deletion" | "other"): Wait | undefined {
    const { uid, flow, brake, writeLimiter, reservation, enqueue } = this.#options;
    // If the brake lets deletions go but not this one, another of its project goes first.
    if (write === "deletion" && !brake.mayGo({ key: uid, flow, ready: enqueue }))
      return brake.isExhausted ? "brake" : "project";
    this.#isAtLimiter = !writeLimiter.take(uid, flow);
    if (this.#isAtLimiter) return "project";
    if (reservation.tryTake("write")) return undefined;
    writeLimiter.waitsForBudget(uid);
    return "budget";
  }
}
