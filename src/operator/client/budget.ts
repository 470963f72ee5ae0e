import type { Cancel, Clock } from "../runtime/clock.ts";

/** How many requests may be sent: a steady rate, and how many at once after a pause. */
export interface BudgetLimits {
  /** Requests per minute. */
  perMinute: number;
  /** Requests that may go out at once. */
  burst: number;
}

interface Waiter {
  patienceMs: number;
  admit: (closedForMs: number | undefined) => void;
}

/** What a reservation that came through keeps for who made it, who was told so, in milliseconds. */
const keptForMs = 10_000;

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
  /** Those who hold a worker while they wait; they are few, for they had to have a reservation. */
  #urgent: Waiter[] = [];
  #waiting: Waiter[] = [];
  /** Who stands in line without waiting, and who may send without asking again, by name. */
  readonly #reserved = new Map<string, Waiter>();
  readonly #kept = new Map<string, Cancel>();
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
    return this.closedForMs > 0 ? 0 : Math.max(0, Math.floor(this.#tokens));
  }

  /** Whether it is full and open, as a new one is. */
  get rested(): boolean {
    this.#fill();
    return this.closedForMs === 0 && this.#tokens >= this.#limits.burst;
  }

  setLimits(limits: BudgetLimits): void {
    this.#fill();
    this.#limits = limits;
    this.#tokens = Math.min(this.#tokens, limits.burst);
    this.#admit();
  }

  /** How long nothing may be sent, since the service asked for it, in milliseconds. */
  get closedForMs(): number {
    return Math.max(0, this.#closedUntil - this.#clock.monotonic());
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
    return this.#wait(signal, patienceMs, this.#waiting);
  }

  /** As `take`, before all who stand in line: for the second request of one who had a reservation for the first. */
  takeNext(signal: AbortSignal, patienceMs = Number.POSITIVE_INFINITY): Promise<number | undefined> {
    return this.#wait(signal, patienceMs, this.#urgent);
  }

  /** Takes one request that could go out now and that nobody stands in line for; answers whether there was one. */
  takeSpare(): boolean {
    this.#fill();
    if (this.closedForMs > 0 || this.#tokens < 1 || this.#urgent.length + this.#waiting.length > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  /**
   * Whether `who` may send one request now, which is then taken; else a place in the line is kept for them, and `ready`
   * called when it is their turn, so that nobody has to wait for it. Whoever does not come for it then loses it.
   */
  reserve(who: string, ready: () => void): boolean {
    if (!this.#kept.has(who) && !this.#reserved.has(who)) this.#standInLine(who, ready);
    const kept = this.#kept.get(who);
    kept?.();
    return this.#kept.delete(who);
  }

  /** About how long it will be until `who`, who has a place in the line, may send, in milliseconds. */
  waitOf(who: string): number {
    this.#fill();
    const place = this.#waiting.findIndex((waiter) => waiter === this.#reserved.get(who));
    const before = this.#urgent.length + Math.max(0, place) + 1 - this.#tokens;
    return this.closedForMs + (Math.max(0, before) * 60_000) / this.#limits.perMinute;
  }

  /** `who` wants nothing any more. */
  leave(who: string): void {
    const waiter = this.#reserved.get(who);
    this.#reserved.delete(who);
    this.#waiting = this.#waiting.filter((other) => other !== waiter);
    const kept = this.#kept.get(who);
    if (kept === undefined) {
      if (waiter !== undefined) this.#admit();
      return;
    }
    kept();
    this.#kept.delete(who);
    this.giveBack();
  }

  /** Whoever has a reservation wants nothing any more; where nobody waits besides, no timer is left. */
  dismiss(): void {
    const reserved = new Set(this.#reserved.values());
    this.#reserved.clear();
    this.#waiting = this.#waiting.filter((waiter) => !reserved.has(waiter));
    for (const who of this.#kept.keys()) this.leave(who);
    this.#admit();
  }

  /** One request that was taken was not sent. */
  giveBack(): void {
    this.#fill();
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + 1);
    this.#admit();
  }

  #standInLine(who: string, ready: () => void): void {
    let asking = true;
    const waiter: Waiter = {
      patienceMs: Number.POSITIVE_INFINITY,
      admit: () => {
        this.#reserved.delete(who);
        this.#kept.set(
          who,
          this.#clock.after(keptForMs, () => this.leave(who)),
        );
        if (!asking) ready();
      },
    };
    this.#reserved.set(who, waiter);
    this.#waiting.push(waiter);
    this.#admit();
    asking = false;
  }

  #wait(signal: AbortSignal, patienceMs: number, line: Waiter[]): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        this.#urgent = this.#urgent.filter((waiter) => waiter !== entry);
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
      line.push(entry);
      this.#admit();
    });
  }

  #admit(): void {
    this.#wake?.();
    this.#wake = undefined;
    this.#fill();
    const closedFor = this.closedForMs;
    this.#admitFirst(closedFor > 0 ? 0 : Math.floor(this.#tokens));
    this.#sendAway(closedFor);
    if (this.#urgent.length + this.#waiting.length === 0) return;
    const untilToken = ((1 - this.#tokens) * 60_000) / this.#limits.perMinute;
    this.#wake = this.#clock.after(Math.max(1, closedFor, Math.ceil(untilToken)), () => this.#admit());
  }

  #admitFirst(count: number): void {
    const urgent = this.#urgent.splice(0, count);
    const admitted = [...urgent, ...this.#waiting.splice(0, count - urgent.length)];
    this.#tokens -= admitted.length;
    for (const { admit } of admitted) admit(undefined);
  }

  /** Those who do not wait for the end of so long a pause. */
  #sendAway(closedForMs: number): void {
    const isImpatient = ({ patienceMs }: Waiter) => patienceMs < closedForMs;
    const away = [...this.#urgent, ...this.#waiting].filter(isImpatient);
    if (away.length === 0) return;
    this.#urgent = this.#urgent.filter((waiter) => !isImpatient(waiter));
    this.#waiting = this.#waiting.filter((waiter) => !isImpatient(waiter));
    for (const { admit } of away) admit(closedForMs);
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const grown = ((now - this.#filledAt) / 60_000) * this.#limits.perMinute;
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + grown);
    this.#filledAt = now;
  }
}
