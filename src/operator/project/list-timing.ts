import { type Failure, isRefusedForGood } from "../service-client/answer.ts";
import { type Priority, priorities } from "../service-client/priority.ts";

/**
 * Lists that are wanted begin at most once in this time, in milliseconds: however many Computes wait, they share
 * them. A list that failed is tried again after so long, and doubly so long each time, up to the refresh interval or
 * a minute.
 */
const everyMs = 1000;
const retryMostMs = 60_000;

/** A failing list is retried once more this long before the latest list stops counting, in milliseconds. */
const lastTryMs = 5000;

/** The latest list counts for this many refresh intervals. */
const intervals = 3;

/** Failing lists are reported after this time at the latest, in milliseconds, however long the interval. */
const failingForMs = 180_000;

/** A second answer at least this much later confirms the first, which may be an accident. In milliseconds. */
export const confirmAfterMs = 5000;

/**
 * The times of one lister's lists: when the next one begins, with which priority, and for how long the latest counts.
 * A single failed list changes nothing, because the next one follows soon, and a single refusal may be an accident.
 * Pure; times on the monotonic clock, in milliseconds.
 */
export class ListTiming {
  /** A list that begins after this time is wanted. */
  #wantedAfter = Number.NEGATIVE_INFINITY;
  /** The most urgent priority that a caller waits with. */
  #need: Priority = "refresh";
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Number of lists that failed in a row. */
  #failures = 0;
  /** Time of the newest list; before the first list, that of the first use. */
  #seenAt: number;
  /** The first and the last of the failures of one kind since. */
  #failing: { isRefusal: boolean; since: number; until: number } | undefined;

  constructor(now: number) {
    this.#seenAt = now;
  }

  /** A list that begins after `after` is wanted with this priority; returns whether that changes anything. */
  want(after: number, need: Priority): boolean {
    const isMoreUrgent = priorities.indexOf(need) < priorities.indexOf(this.#need);
    if (!isMoreUrgent && after <= this.#wantedAfter) return false;
    if (isMoreUrgent) this.#need = need;
    this.#wantedAfter = Math.max(this.#wantedAfter, after);
    return true;
  }

  /** No caller waits any more. */
  met(): void {
    this.#need = "refresh";
  }

  begun(now: number): void {
    this.#startedAt = now;
  }

  succeeded(now: number): void {
    this.#failures = 0;
    this.#seenAt = now;
    this.#failing = undefined;
  }

  failed(failure: Failure, now: number): void {
    this.#failures += 1;
    const [before, refusal] = [this.#failing, isRefusedForGood(failure)];
    this.#failing = { isRefusal: refusal, since: before?.isRefusal === refusal ? before.since : now, until: now };
  }

  /** True if a failure is more than the single one that changes nothing. */
  get isFailing(): boolean {
    return this.#failures > 1;
  }

  /** The priority of the next list; callers still wait for a list that failed. */
  get priority(): Priority {
    return this.#isWanted || this.#failures > 0 ? this.#need : "refresh";
  }

  /** The most urgent priority that a caller waits with, also if the list in flight may satisfy it. */
  get need(): Priority {
    return this.#need;
  }

  /** Time at which the next list begins. `lostAt`: when the latest list stops counting. */
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
    // The first list is to show what the first caller wants: the next one may only begin a second later.
    return this.#startedAt === Number.NEGATIVE_INFINITY ? wantedAt : Math.min(inTime, wantedAt);
  }

  /** Time from which the latest list no longer counts. `intervalMs`: the refresh interval in force. */
  lostAt(intervalMs: number): number {
    const tooOldAt = this.#seenAt + intervals * intervalMs;
    if (this.#failing === undefined) return tooOldAt;
    const { since, until } = this.#failing;
    if (!this.#failing.isRefusal) return Math.min(tooOldAt, since + failingForMs);
    return until - since >= confirmAfterMs ? Math.min(tooOldAt, until) : tooOldAt;
  }

  /** True if a caller wants a list that is newer than the last one begun. */
  get #isWanted(): boolean {
    return this.#wantedAfter >= this.#startedAt;
  }
}
