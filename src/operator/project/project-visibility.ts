import type { Cancel, Clock } from "../runtime/clock.ts";
import { type Failure, isLasting } from "../service-client/answer.ts";

/** A second answer at least this much later confirms the first, which may be an accident. In milliseconds. */
export const confirmAfterMs = 5000;

export interface ProjectVisibilityOptions {
  clock: Clock;
  signal: AbortSignal;
  /** The refresh interval in force. */
  intervalMs: () => number;
  /** True if a Compute uses the project. */
  isUsed: () => boolean;
  /** The project is not seen any more; called once until the next good list. */
  onLost: () => void;
}

/** The project counts as not seen this many refresh intervals after the newest list. */
const intervals = 3;

/** Failing lists are reported after this time at the latest, in milliseconds, however long the interval. */
const failingForMs = 180_000;

/**
 * For how long the last list of a project counts, and the timer for its end. A single failed list changes nothing,
 * because the next one follows soon, and a single refusal may be an accident. Times on the monotonic clock.
 */
export class ProjectVisibility {
  readonly #options: ProjectVisibilityOptions;
  /** Time of the newest list; before the first list, that of the project's first use. */
  #seenAt: number;
  /** The first and the last of the failures of one kind since. */
  #failing: { isLasting: boolean; since: number; until: number } | undefined;
  #timer: Cancel | undefined;
  #isReported = false;

  constructor(options: ProjectVisibilityOptions) {
    this.#options = options;
    this.#seenAt = options.clock.monotonic();
  }

  get isLost(): boolean {
    return this.#options.clock.monotonic() >= this.lostAt;
  }

  /** Time from which the project no longer counts as seen. */
  get lostAt(): number {
    const tooOldAt = this.#seenAt + intervals * this.#options.intervalMs();
    if (this.#failing === undefined) return tooOldAt;
    const { since, until } = this.#failing;
    if (!this.#failing.isLasting) return Math.min(tooOldAt, since + failingForMs);
    return until - since >= confirmAfterMs ? Math.min(tooOldAt, until) : tooOldAt;
  }

  /** A list succeeded; returns true if the loss of the project had been reported. */
  listed(): boolean {
    const wasReported = this.#isReported;
    this.#isReported = false;
    this.#seenAt = this.#options.clock.monotonic();
    this.#failing = undefined;
    return wasReported;
  }

  /** A list failed. */
  failed(failure: Failure): void {
    const now = this.#options.clock.monotonic();
    const [before, lasting] = [this.#failing, isLasting(failure)];
    this.#failing = { isLasting: lasting, since: before?.isLasting === lasting ? before.since : now, until: now };
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
    if (this.#isReported || signal.aborted || !isUsed()) return;
    this.#timer = clock.after(Math.max(0, this.lostAt - clock.monotonic()), () => {
      if (!this.isLost) return this.plan();
      this.#isReported = true;
      onLost();
    });
  }

  stop(): void {
    this.#timer?.();
  }
}
