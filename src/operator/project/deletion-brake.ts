import type { Clock } from "../runtime/clock.ts";
import { type Caller, Turnstile } from "../runtime/turnstile.ts";

/** Deletions are counted over a minute. */
const countedForMs = 60_000;

/** So many deletions of a tenant may be unanswered: a service that answers none is not to use up everyone's minute. */
const mostUnanswered = 4;

/**
 * Allows so many deletions per minute, for all objects of a kind together: a brake on mistakes, not a rate.
 *
 * One of a project is let in at a time, because they would wait for each other. A caller keeps its place while its
 * reconcile goes on, and while it was called and waits elsewhere.
 */
export class DeletionBrake {
  readonly #clock: Clock;
  readonly #turnstile: Turnstile;
  /** Deletions that may go, oldest first. */
  #counted: { uid: string; at: number; isSent: boolean }[] = [];

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    const free = (now: number) => {
      this.#counted = this.#counted.filter(({ at }) => now - at < countedForMs);
      return perMinute - this.#counted.length;
    };
    const moreAt = () => (this.#counted[0]?.at ?? Number.NEGATIVE_INFINITY) + countedForMs;
    this.#turnstile = new Turnstile({ clock, free, moreAt, perFlow: 1, perTenant: mostUnanswered });
  }

  /** True if no more deletions may go now. */
  get isExhausted(): boolean {
    return this.#turnstile.room < 1;
  }

  /** Number of deletions that wait because of the brake. */
  get held(): number {
    return this.isExhausted ? this.#turnstile.waiting : 0;
  }

  /**
   * True if this deletion may be sent now; it is then counted, or the caller leaves. If the brake is not exhausted,
   * another deletion of the same project goes first. The flow is `tenant/project`: tenants take turns, and so do the
   * projects of each.
   */
  mayGo(caller: Caller): boolean {
    return this.#turnstile.ask(caller);
  }

  /** Counts a deletion that is about to go; its place is kept until it leaves. */
  count(uid: string): void {
    this.#counted.push({ uid, at: this.#clock.monotonic(), isSent: false });
    this.#turnstile.enter(uid);
  }

  /** Moves the begin of a deletion's minute to now: it is sent only after a question to the API server. */
  sent(uid: string): void {
    const index = this.#counted.findLastIndex((counted) => counted.uid === uid);
    if (index >= 0) this.#counted.splice(index, 1);
    this.#counted.push({ uid, at: this.#clock.monotonic(), isSent: true });
  }

  /** Ends a deletion that is over, no longer wanted, or not possible now; one that was not sent does not count. */
  leave(uid: string): void {
    this.#counted = this.#counted.filter((counted) => counted.isSent || counted.uid !== uid);
    this.#turnstile.leave(uid);
  }

  /** Something other than the brake changed for all callers that wait. */
  wakeAll(): void {
    this.#turnstile.wakeAll();
  }

  /** No caller waits any more; deletions that were counted stay counted. */
  dismiss(): void {
    this.#turnstile.dismiss();
  }
}
