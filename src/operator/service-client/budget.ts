import type { Cancel, Clock } from "../runtime/clock.ts";
import { type Priority, PriorityQueue } from "./priority-queue.ts";

/** How many requests may be sent: a steady rate, and how many at once after a pause. */
export interface BudgetLimits {
  /** Requests per minute. */
  perMinute: number;
  /** Requests that may be sent at once. */
  burst: number;
}

/**
 * A called reconcile first needs a worker, which may take long; at most this many of one priority are called at the
 * same time, shared evenly by the tenants that wait, each with one at least.
 */
const mostCalled = 8;

/**
 * A request that is set aside for a caller that neither comes nor leaves goes to others after this time, in
 * milliseconds.
 */
const calledForMs = 60_000;

/** Callers that cannot come are asked again after this time, in milliseconds. */
const againMs = 1000;

/** A pause that grows by less is not reported again, in milliseconds: each request in flight is answered with one. */
const samePauseMs = 1000;

/**
 * A token bucket that all requests of one key to one base URL share.
 *
 * Expected flow: `tryTake` takes a request or puts the caller on a list; the caller is called once a request is set
 * aside for it, then comes and takes it, or leaves. Lists and polls come at once; a reconcile first gets a worker, and
 * is not called while it could not get one.
 *
 * Guarantees: nobody blocks inside. A `Retry-After` of the service closes the budget; then every caller on the list is
 * called once, to report it.
 */
export class RequestBudget {
  readonly #clock: Clock;
  #limits: BudgetLimits;
  #tokens: number;
  #filledAt: number;
  #closedUntil = 0;
  /** How long the budget was closed in total, up to the end of the latest known pause. */
  #closedInAllMs = 0;
  readonly #line = new PriorityQueue();
  /** The callers that were called and have not come yet, and until when a request is set aside for them. */
  readonly #called = new Map<unknown, { priority: Priority; tenant: string; since: number; until: number }>();
  /** The caller that is asking right now; it is answered, not called. */
  #asking: unknown;
  #isCalling = false;
  /** A caller was not called since it could not come. */
  #passedOver = false;
  readonly #onTaken: (waitedSeconds: number) => void;
  readonly #onPause = new Set<() => void>();
  /** Listeners know of a pause whose end was not reported to them yet. */
  #pauseIsReported = false;
  #timer: Cancel | undefined;

  /** `onTaken` is called with the seconds that each request waited. */
  constructor(clock: Clock, limits: BudgetLimits, onTaken: (waitedSeconds: number) => void = () => {}) {
    this.#clock = clock;
    this.#onTaken = onTaken;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#filledAt = clock.monotonic();
  }

  /** Requests that could be sent now. */
  get available(): number {
    this.#fill();
    return this.closedForMs > 0 ? 0 : Math.max(0, Math.floor(this.#tokens) - this.#called.size);
  }

  /** Whether it is full and open, as a new one is. */
  get rested(): boolean {
    this.#fill();
    return this.closedForMs === 0 && this.#tokens >= this.#limits.burst && this.#line.size === 0;
  }

  setLimits(limits: BudgetLimits): void {
    this.#fill();
    this.#limits = limits;
    this.#callNext();
  }

  /** How long nothing may be sent because the service asked for a pause, in milliseconds. */
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
      this.#pauseIsReported = true;
      for (const ready of this.#line.all()) ready();
      for (const listener of this.#onPause) listener();
    }
    this.#callNext();
  }

  /** Calls `listener` when a pause begins, grows or ends, until the returned function is called. */
  onPause(listener: () => void): Cancel {
    this.#onPause.add(listener);
    return () => this.#onPause.delete(listener);
  }

  /**
   * Takes one request if one is free and it is the turn of `who`. Otherwise `who` is put on the list, and `ready` is
   * called when it is their turn, if they are able to come: a request is then set aside until they ask again or leave.
   * Tenants take turns; within one, priorities decide.
   */
  tryTake(priority: Priority, who: unknown, ready: () => void, tenant = "", isAble = () => true): boolean {
    const mayCome = () => {
      const may = isAble();
      this.#passedOver ||= !may;
      return may;
    };
    if (!this.#called.has(who)) {
      const asking = this.#asking;
      this.#line.join(who, priority, { since: this.#clock.monotonic(), ready, mayCome }, tenant);
      this.#asking = who;
      this.#callNext();
      this.#asking = asking;
    }
    const called = this.#called.get(who);
    if (called === undefined) return false;
    this.#called.delete(who);
    if (this.closedForMs > 0) {
      this.#line.join(who, priority, { since: called.since, ready, mayCome }, tenant);
      this.#callNext();
      return false;
    }
    this.#tokens -= 1;
    this.#onTaken((this.#clock.monotonic() - called.since) / 1000);
    this.#callNext();
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
    if (this.available < 1 || this.#line.size > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  /** About how long `who`, who is on the list, still waits, in milliseconds. */
  waitOf(who: unknown): number {
    this.#fill();
    const before = this.#line.before(who) + this.#called.size + 1 - this.#tokens;
    return this.closedForMs + (Math.max(0, before) * 60_000) / this.#limits.perMinute;
  }

  /** `who` wants nothing any more. */
  leave(who: unknown): void {
    const waited = this.#line.leave(who);
    if (this.#called.delete(who) || waited) this.#callNext();
  }

  /** Nobody wants anything any more; no timer remains. */
  dismiss(): void {
    this.#line.clear();
    this.#called.clear();
    this.#timer?.();
  }

  /** A called caller may take at once and so have the next one called. Thousands may wait, so this never nests. */
  #callNext(): void {
    if (this.#isCalling) return;
    this.#reportEndOfPause();
    this.#isCalling = true;
    try {
      this.#callAll();
    } finally {
      this.#isCalling = false;
      this.#schedule();
    }
  }

  /** Not only by the timer: after the machine has slept, a caller may come before the timer fires. */
  #reportEndOfPause(): void {
    if (!this.#pauseIsReported || this.closedForMs > 0) return;
    this.#pauseIsReported = false;
    for (const listener of this.#onPause) listener();
  }

  #callAll(): void {
    this.#fill();
    const now = this.#clock.monotonic();
    for (const [who, { until }] of this.#called) if (until <= now) this.#called.delete(who);
    this.#passedOver = false;
    const isFull = (tenant: string, priority: Priority) => this.#isFull(tenant, priority);
    while (this.closedForMs === 0 && this.#tokens - this.#called.size >= 1) {
      const next = this.#line.next(isFull, this.#asking);
      if (next === undefined) break;
      const { who, priority, tenant, since } = next;
      this.#called.set(who, { priority, tenant, since, until: now + calledForMs });
      if (who !== this.#asking) next.ready();
    }
  }

  #isFull(tenant: string, priority: Priority): boolean {
    if (this.#called.size === 0) return false;
    const called = [...this.#called.values()];
    const tenants = new Set([...this.#line.tenants, ...called.map((one) => one.tenant)]);
    const own = called.filter((one) => one.tenant === tenant && one.priority === priority).length;
    return own >= Math.max(1, Math.floor(mostCalled / tenants.size));
  }

  #schedule(): void {
    this.#timer?.();
    const delays: number[] = [];
    const { closedForMs } = this;
    if (closedForMs > 0) {
      if (this.#line.size > 0 || this.#onPause.size > 0) delays.push(closedForMs);
    } else if (this.#line.size > 0) {
      const missing = this.#called.size + 1 - this.#tokens;
      if (missing > 0) delays.push((missing * 60_000) / this.#limits.perMinute);
      if (this.#passedOver) delays.push(againMs);
      for (const { until } of this.#called.values()) {
        delays.push(until - this.#clock.monotonic());
        break;
      }
    }
    if (delays.length === 0) return;
    const delay = Math.max(1, Math.ceil(Math.min(...delays)));
    this.#timer = this.#clock.after(delay, () => {
      this.#callNext();
    });
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const grown = ((now - this.#filledAt) / 60_000) * this.#limits.perMinute;
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + grown);
    this.#filledAt = now;
  }
}
