import type { Clock } from "../../../src/operator/runtime/clock.ts";

const perMinute = 700;
const burst = 40;
const longestPauseMs = 300_000;

/** No process sends more than its budget lets it, nor before it may again. */
export class BudgetGuard {
  readonly #clock: Clock;
  readonly #report: (promise: string, message: string) => void;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  readonly #silent = new Map<string, { since: number; until: number }>();

  constructor(clock: Clock, report: (promise: string, message: string) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  sent(process: string, key: string, method: string): void {
    const now = this.#clock.monotonic();
    const bucket = this.#buckets.get(`${process} ${key}`) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * perMinute) / 60_000) - 1;
    this.#buckets.set(`${process} ${key}`, { tokens, at: now });
    if (tokens < -1)
      this.#report("budgets", `${process} sent more than ${perMinute} requests a minute and ${burst} at once`);
    const { since, until } = this.#silent.get(`${process} ${key}`) ?? { since: now, until: now };
    // What leaves at the very moment had passed its check.
    if (since < now && now < until) {
      this.#report(
        "budgets",
        `${process} sent a ${method} ${until - now} ms before the service's Retry-After was over`,
      );
    }
  }

  /** The service itself answered with a Retry-After, of which five minutes count. */
  toldToWait(process: string, key: string, asked: number): void {
    const now = this.#clock.monotonic();
    const ms = Math.min(asked, longestPauseMs);
    const budget = `${process} ${key}`;
    const before = this.#silent.get(budget);
    if (before === undefined || before.until <= now) this.#silent.set(budget, { since: now, until: now + ms });
    else before.until = Math.max(before.until, now + ms);
  }
}
