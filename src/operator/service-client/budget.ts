import type { Cancel, Clock } from "../runtime/clock.ts";
import { Turnstile } from "../runtime/turnstile.ts";
import { type Priority, priorities } from "./priority.ts";

/** Limits of the requests that may be sent: a steady rate, and the number at once after a pause. */
export interface BudgetLimits {
  /** Requests per minute. */
  perMinute: number;
  /** Requests that may be sent at once. */
  burst: number;
}

/** A pause that grows by less is not reported again, in milliseconds: each request in flight is answered with one. */
const samePauseMs = 1000;

/**
 * A token bucket that all requests of one key to one base URL share.
 *
 * Expected flow: `tryTake` takes a request, or the caller waits and is called once a request is kept for it; then it
 * comes and takes the request, or leaves. Lists and polls come at once; a reconcile first gets a worker, and is not
 * called while it could not get one.
 *
 * Guarantees: nobody blocks inside. A `Retry-After` of the service closes the budget; then every caller that waits is
 * called once, to report it.
 */
export class RequestBudget {
  readonly #clock: Clock;
  readonly #turnstile: Turnstile;
  #limits: BudgetLimits;
  #tokens: number;
  #filledAt: number;
  #closedUntil = 0;
  /** Time for which the budget was closed in total, up to the end of the latest known pause. */
  #closedInAllMs = 0;
  readonly #onTaken: (waitedSeconds: number) => void;
  readonly #onPause = new Set<() => void>();

  /** `onTaken` is called with the seconds that each request waited. */
  constructor(clock: Clock, limits: BudgetLimits, onTaken: (waitedSeconds: number) => void = () => {}) {
    this.#clock = clock;
    this.#onTaken = onTaken;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#filledAt = clock.monotonic();
    const [free, moreAt] = [() => this.#freeTokens(), (now: number) => this.#moreAt(now)];
    this.#turnstile = new Turnstile({ clock, free, moreAt, priorities });
  }

  /** Requests that could be sent now. */
  get available(): number {
    return Math.max(0, Math.floor(this.#turnstile.room));
  }

  /** True if it is full and open, as a new one is. */
  get rested(): boolean {
    return this.#freeTokens() >= this.#limits.burst && this.#turnstile.waiting === 0;
  }

  setLimits(limits: BudgetLimits): void {
    this.#fill();
    this.#limits = limits;
    this.#turnstile.offer();
  }

  /** Time for which nothing may be sent because the service asked for a pause, in milliseconds. */
  get closedForMs(): number {
    return Math.max(0, this.#closedUntil - this.#clock.monotonic());
  }

  /** A clock that stops while the budget is closed, in milliseconds: it measures the waiting time for a turn alone. */
  get openMs(): number {
    return this.#clock.monotonic() - this.#closedInAllMs + this.closedForMs;
  }

  /** Sends nothing for `ms` because the service asked for a pause. */
  closeFor(ms: number): void {
    const now = this.#clock.monotonic();
    const until = Math.max(this.#closedUntil, now + ms);
    const longer = until - Math.max(now, this.#closedUntil);
    if (longer <= 0) return;
    const isNews = this.closedForMs === 0 || longer >= samePauseMs;
    this.#closedUntil = until;
    this.#closedInAllMs += longer;
    if (isNews) {
      this.#turnstile.wakeAll();
      for (const listener of this.#onPause) listener();
    }
    this.#turnstile.offer();
  }

  /** Calls `listener` when a pause begins or grows, until the returned function is called. */
  onPause(listener: () => void): Cancel {
    this.#onPause.add(listener);
    return () => this.#onPause.delete(listener);
  }

  /**
   * Takes one request if one is free and it is the turn of `who`. Otherwise `who` waits, and `ready` is called when it
   * is their turn, if they are able to come: a request is then kept until they ask again or leave. Tenants take turns;
   * within one, priorities decide.
   */
  tryTake(priority: Priority, who: unknown, ready: () => void, tenant = "", isAble?: () => boolean): boolean {
    if (!this.#turnstile.ask({ key: who, flow: `${tenant}/${priority}`, ready, isAble })) return false;
    const { since } = this.#turnstile.enter(who);
    this.#tokens -= 1;
    this.#onTaken((this.#clock.monotonic() - since) / 1000);
    this.#turnstile.give(who);
    return true;
  }

  /**
   * Resolves when one request was taken; rejects if the signal aborts first. If the service asked for a longer pause
   * than `patienceMs`, resolves with the rest of the pause and takes nothing.
   */
  take(priority: Priority, signal: AbortSignal, patienceMs: number, tenant = ""): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const who = {};
      const onAbort = () => {
        this.leave(who);
        reject(signal.reason);
      };
      const ask = () => {
        const { closedForMs } = this;
        const isTooLong = closedForMs > patienceMs;
        if (isTooLong) this.leave(who);
        else if (!this.tryTake(priority, who, ask, tenant)) return;
        signal.removeEventListener("abort", onAbort);
        resolve(isTooLong ? closedForMs : undefined);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener("abort", onAbort);
      ask();
    });
  }

  /** Takes one request that could be sent now and that nobody waits for; returns whether there was one. */
  takeSpare(): boolean {
    if (this.available < 1 || this.#turnstile.waiting > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  /** A request that was taken is not sent: others may send theirs at once. */
  giveBack(): void {
    this.#fill();
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + 1);
    this.#turnstile.offer();
  }

  /** About how long `who`, who waits, still does so, in milliseconds. */
  waitOf(who: unknown): number {
    this.#fill();
    const missing = this.#turnstile.before(who) + 1 - this.#tokens;
    return this.closedForMs + (Math.max(0, missing) * 60_000) / this.#limits.perMinute;
  }

  /** `who` wants nothing any more. */
  leave(who: unknown): void {
    this.#turnstile.leave(who);
  }

  /** Drops all callers and the timer. */
  dismiss(): void {
    this.#turnstile.dismiss();
  }

  #freeTokens(): number {
    this.#fill();
    return this.closedForMs > 0 ? 0 : this.#tokens;
  }

  /** The next request is added at the rate of the budget, once it is open. */
  #moreAt(now: number): number {
    if (this.#closedUntil > now) return this.#closedUntil;
    const missing = this.#turnstile.called + 1 - this.#tokens;
    // A rest of a request from rounding is shorter than a millisecond, and its time would be now.
    return missing > 0 ? now + Math.max(1, (missing * 60_000) / this.#limits.perMinute) : now;
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const grown = ((now - this.#filledAt) / 60_000) * this.#limits.perMinute;
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + grown);
    this.#filledAt = now;
  }
}
