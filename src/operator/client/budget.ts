import type { Cancel, Clock } from "../runtime/clock.ts";

/** How many requests may be sent: a steady rate, and how many at once after a pause. */
export interface BudgetLimits {
  /** Requests per minute. */
  perMinute: number;
  /** Requests that may go out at once. */
  burst: number;
}

/**
 * A token bucket that all requests of one key to one base URL draw from, in the order in which they ask.
 * A `Retry-After` of the service stops it altogether until then.
 */
export class RequestBudget {
  readonly #clock: Clock;
  #limits: BudgetLimits;
  #tokens: number;
  #filledAt: number;
  #closedUntil = 0;
  #waiting: { patienceMs: number; admit: (closedForMs: number | undefined) => void }[] = [];
  #wake: Cancel | undefined;

  constructor(clock: Clock, limits: BudgetLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#filledAt = clock.monotonic();
  }

  /** Requests that could go out now. */
  get available(): number {
    this.#fill();
    return this.#clock.monotonic() < this.#closedUntil ? 0 : Math.max(0, Math.floor(this.#tokens));
  }

  /** Whether it is full and open, as a new one is. */
  get rested(): boolean {
    this.#fill();
    return this.#clock.monotonic() >= this.#closedUntil && this.#tokens >= this.#limits.burst;
  }

  setLimits(limits: BudgetLimits): void {
    this.#fill();
    this.#limits = limits;
    this.#tokens = Math.min(this.#tokens, limits.burst);
  }

  /** Lets nothing out for `ms`: the service asked for it. */
  closeFor(ms: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, this.#clock.monotonic() + ms);
    this.#admit();
  }

  /**
   * Resolves when one request may be sent; rejects when the signal aborts first. Where nothing may be sent for longer
   * than `patienceMs`, since the service asked for it, nothing is taken: resolves at once with how long that still is.
   */
  take(signal: AbortSignal, patienceMs = Number.POSITIVE_INFINITY): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((waiter) => waiter !== entry);
        reject(signal.reason);
      };
      const entry = {
        patienceMs,
        admit: (closedForMs: number | undefined) => {
          signal.removeEventListener("abort", onAbort);
          resolve(closedForMs);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(entry);
      this.#admit();
    });
  }

  #admit(): void {
    this.#wake?.();
    this.#wake = undefined;
    this.#fill();
    const closedFor = this.#closedUntil - this.#clock.monotonic();
    const admitted = this.#waiting.splice(0, closedFor > 0 ? 0 : Math.floor(this.#tokens));
    this.#tokens -= admitted.length;
    for (const { admit } of admitted) admit(undefined);
    const impatient = this.#waiting.filter(({ patienceMs }) => patienceMs < closedFor);
    this.#waiting = this.#waiting.filter(({ patienceMs }) => patienceMs >= closedFor);
    for (const { admit } of impatient) admit(closedFor);
    if (this.#waiting.length === 0) return;
    const untilToken = ((1 - this.#tokens) * 60_000) / this.#limits.perMinute;
    this.#wake = this.#clock.after(Math.max(1, closedFor, Math.ceil(untilToken)), () => this.#admit());
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const grown = ((now - this.#filledAt) / 60_000) * this.#limits.perMinute;
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + grown);
    this.#filledAt = now;
  }
}
