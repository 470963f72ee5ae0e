import type { Failure } from "../service-client/answer.ts";

/** So many refresh intervals after the newest list nobody knows any more what the project's endpoints are. */
const intervals = 3;

/** Lists that fail are told of after so long at the latest, in milliseconds, however seldom the project is listed. */
const failingForMs = 180_000;

/** A refusal of the service counts once a second one, at least so much later, says the same. In milliseconds. */
const refusedForMs = 5000;

/**
 * How long what was last seen of a project counts. A failed list changes nothing: the next one is tried soon. Times on
 * the monotonic clock, in milliseconds.
 */
export class LastSeen {
  /** When the newest list came; until there is one, when the project was first asked for. */
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

  /** When the project counts as not seen any more, at this refresh interval. */
  lostAt(refreshIntervalMs: number): number {
    const tooOld = this.#at + intervals * refreshIntervalMs;
    if (this.#failing === undefined) return tooOld;
    const { refused, since, until } = this.#failing;
    // Only a second refusal tells that the first was no accident.
    if (refused) return until - since >= refusedForMs ? Math.min(tooOld, until) : tooOld;
    return Math.min(tooOld, since + failingForMs);
  }
}
