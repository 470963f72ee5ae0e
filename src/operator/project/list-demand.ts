import { type Priority, priorities } from "../service-client/priority.ts";

/**
 * Lists that are wanted begin at most once in this time, in milliseconds: however many Computes wait, they share
 * them. A list that failed is tried again after so long, and doubly so long each time, up to the refresh interval or
 * a minute.
 */
const everyMs = 1000;
const retryMostMs = 60_000;

/** A failing list is retried once more this long before the project counts as not seen, in milliseconds. */
const lastTryMs = 5000;

/** Demand for the next list of a project: its time and its priority. Times on the monotonic clock, in milliseconds. */
export class ListDemand {
  /** A list that begins after this time is wanted. */
  #wantedAfter = Number.NEGATIVE_INFINITY;
  /** The most urgent priority that a Compute waits with. */
  #need: Priority = "refresh";
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Number of lists that failed in a row. */
  #failures = 0;

  get failures(): number {
    return this.#failures;
  }

  /** A list that begins after `after` is wanted with this priority; returns whether that changes anything. */
  want(after: number, need: Priority): boolean {
    const isMoreUrgent = priorities.indexOf(need) < priorities.indexOf(this.#need);
    if (!isMoreUrgent && after <= this.#wantedAfter) return false;
    if (isMoreUrgent) this.#need = need;
    this.#wantedAfter = Math.max(this.#wantedAfter, after);
    return true;
  }

  /** No Compute waits any more. */
  met(): void {
    this.#need = "refresh";
  }

  begin(now: number): void {
    this.#startedAt = now;
  }

  ended(succeeded: boolean): void {
    this.#failures = succeeded ? 0 : this.#failures + 1;
  }

  /** The priority of the next list; Computes still wait for a list that failed. */
  get priority(): Priority {
    return this.#isWanted || this.#failures > 0 ? this.#need : "refresh";
  }

  /** The most urgent priority that a Compute waits with, also if the list in flight may satisfy it. */
  get need(): Priority {
    return this.#need;
  }

  /** `lostAt`: when the project no longer counts as seen. */
  nextAt(refreshIntervalMs: number, lostAt: number): number {
    if (this.#failures > 0) {
      const retryMs = everyMs * 2 ** (this.#failures - 1);
      const retryAt = this.#startedAt + Math.min(refreshIntervalMs, retryMostMs, retryMs);
      const beforeMs = Math.min(lastTryMs, refreshIntervalMs / 6);
      const lastTryAt = lostAt - beforeMs;
      return lastTryAt >= this.#startedAt + beforeMs ? Math.min(retryAt, lastTryAt) : retryAt;
    }
    const inTime = this.#startedAt + refreshIntervalMs;
    if (!this.#isWanted) return inTime;
    const wantedAt = Math.max(this.#wantedAfter + 1, this.#startedAt + everyMs);
    // The first list is to show what the first Compute wants: the next one may only begin a second later.
    return this.#startedAt === Number.NEGATIVE_INFINITY ? wantedAt : Math.min(inTime, wantedAt);
  }

  /** True if a Compute wants a list that is newer than the last one begun. */
  get #isWanted(): boolean {
    return this.#wantedAfter >= this.#startedAt;
  }
}
