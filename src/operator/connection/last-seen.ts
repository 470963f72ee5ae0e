import type { Failure } from "../service-client/answer.ts";

/** The project counts as not seen this many refresh intervals after the newest list. */
const intervals = 3;

/** Failing lists are reported after this time at the latest, in milliseconds, however long the interval. */
const failingForMs = 180_000;

/** A refusal counts when a second one confirms it at least this much later, in milliseconds. */
const refusedForMs = 5000;

/**
 * How long the last list of a project counts. A single failed list changes nothing, because the next one follows soon.
 * Times on the monotonic clock, in milliseconds.
 */
export class LastSeen {
  /** When the newest list came; before the first list, when the project was first used. */
  #at: number;
  #failing: { refused: boolean; since: number; until: number } | undefined;

  constructor(now: number) {
    this.#at = now;
  }

  /** A list succeeded. */
  listed(now: number): void {
    this.#at = now;
    this.#failing = undefined;
  }

  /** A list failed. */
  failed({ kind }: Failure, now: number): void {
    const refused = kind === "forbidden" || kind === "notFound" || kind === "refused" || kind === "unauthorized";
    const since = this.#failing?.refused === refused ? this.#failing.since : now;
    this.#failing = { refused, since, until: now };
  }

  /** When the project no longer counts as seen, at this refresh interval. */
  lostAt(refreshIntervalMs: number): number {
    const tooOld = this.#at + intervals * refreshIntervalMs;
    if (this.#failing === undefined) return tooOld;
    const { refused, since, until } = this.#failing;
    // A single refusal may be an accident.
    if (refused) return until - since >= refusedForMs ? Math.min(tooOld, until) : tooOld;
    return Math.min(tooOld, since + failingForMs);
  }
}
