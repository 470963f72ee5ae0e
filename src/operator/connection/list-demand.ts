import { type Priority, priorities } from "../service-client/priority-queue.ts";
import { ListRateLimiter } from "./list-rate-limiter.ts";

/** After a failed list the next is tried so many milliseconds later, doubling up to refresh interval or a minute. */
const retryFirstMs = 1000;
const retryMostMs = 60_000;

/** So long before a loss of sight would be reported, in milliseconds, a failing list is tried once more. */
const lastTryMs = 5000;

/** When a project's next list is to begin, and what it is for. Times on the monotonic clock, in milliseconds. */
export class ListDemand {
  readonly #pace = new ListRateLimiter();
  /** A list that begins after this is wanted. */
  #wantedAfter = Number.NEGATIVE_INFINITY;
  /** The most urgent that anybody waits for a list for. */
  #need: Priority = "refresh";
  #startedAt = Number.NEGATIVE_INFINITY;
  /** How many lists failed in a row. */
  #failures = 0;

  get failures(): number {
    return this.#failures;
  }

  /** A list that begins after `after` is wanted for this; answers whether that changes anything. */
  want(after: number, need: Priority): boolean {
    const isMoreUrgent = priorities.indexOf(need) < priorities.indexOf(this.#need);
    if (!isMoreUrgent && after <= this.#wantedAfter) return false;
    if (isMoreUrgent) this.#need = need;
    this.#wantedAfter = Math.max(this.#wantedAfter, after);
    return true;
  }

  /** Nobody waits any more. */
  met(): void {
    this.#need = "refresh";
  }

  begin(now: number): void {
    this.#startedAt = now;
    this.#pace.begin(now);
  }

  ended(succeeded: boolean): void {
    this.#failures = succeeded ? 0 : this.#failures + 1;
  }

  /** What the next list is for; one that failed is still waited for. */
  get priority(): Priority {
    return this.#isWanted || this.#failures > 0 ? this.#need : "refresh";
  }

  /** What is waited for most urgently, also where the list in flight may bring it. */
  get need(): Priority {
    return this.#need;
  }

  /** `lostAt`: when the project counts as not seen any more. */
  nextAt(refreshIntervalMs: number, lostAt: number): number {
    if (this.#failures > 0) {
      const retryMs = retryFirstMs * 2 ** (this.#failures - 1);
      const retryAt = this.#startedAt + Math.min(refreshIntervalMs, retryMostMs, retryMs);
      const beforeMs = Math.min(lastTryMs, refreshIntervalMs / 6);
      const lastTryAt = lostAt - beforeMs;
      return lastTryAt >= this.#startedAt + beforeMs ? Math.min(retryAt, lastTryAt) : retryAt;
    }
    const inTime = this.#startedAt + refreshIntervalMs;
    if (!this.#isWanted) return inTime;
    return Math.min(inTime, Math.max(this.#wantedAfter + 1, this.#pace.earliest));
  }

  /** Whether somebody wants a list that is newer than the last one begun. */
  get #isWanted(): boolean {
    return this.#wantedAfter >= this.#startedAt;
  }
}
