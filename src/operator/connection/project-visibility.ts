import type { Cancel, Clock } from "../runtime/clock.ts";
import { type Failure, isLasting } from "../service-client/answer.ts";

export interface ProjectVisibilityOptions {
  clock: Clock;
  signal: AbortSignal;
  /** The refresh interval in force. */
  intervalMs: () => number;
  /** Whether a Compute uses the project. */
  isUsed: () => boolean;
  /** The project is not seen any more; called once until the next good list. */
  onLost: () => void;
}

/** Whether what was last listed of a project still counts, and the timer for the moment when it no longer does. */
export class ProjectVisibility {
  readonly #options: ProjectVisibilityOptions;
  readonly #lastSeen: LastSeen;
  #timer: Cancel | undefined;
  #reported = false;

  constructor(options: ProjectVisibilityOptions) {
    this.#options = options;
    this.#lastSeen = new LastSeen(options.clock.monotonic());
  }

  get isLost(): boolean {
    return this.#options.clock.monotonic() >= this.lostAt;
  }

  get lostAt(): number {
    return this.#lastSeen.lostAt(this.#options.intervalMs());
  }

  /** A list succeeded; returns whether the loss of the project had been reported. */
  listed(): boolean {
    const reported = this.#reported;
    this.#reported = false;
    this.#lastSeen.listed(this.#options.clock.monotonic());
    return reported;
  }

  failed(failure: Failure): void {
    this.#lastSeen.failed(failure, this.#options.clock.monotonic());
  }

  /** The project is used: sets the timer unless it is set. */
  start(): void {
    if (this.#timer === undefined) this.plan();
  }

  /** Sets the timer, again after whatever it depends on has changed. */
  plan(): void {
    this.stop();
    this.#timer = undefined;
    const { clock, signal, isUsed, onLost } = this.#options;
    if (this.#reported || signal.aborted || !isUsed()) return;
    this.#timer = clock.after(Math.max(0, this.lostAt - clock.monotonic()), () => {
      if (!this.isLost) return this.plan();
      this.#reported = true;
      onLost();
    });
  }

  stop(): void {
    this.#timer?.();
  }
}

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
  failed(failure: Failure, now: number): void {
    const refused = isLasting(failure);
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
