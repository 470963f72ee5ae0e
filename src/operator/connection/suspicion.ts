import type { Clock } from "../runtime/clock.ts";

/** What a single answer may suggest about a key or its service. */
type Suspect = "unauthorized" | "unreachable";

/** A second answer at least this much later confirms it, in milliseconds. */
const confirmAfterMs = 5000;

/**
 * Prevents a single answer from ending good health: neither one 401 nor one failed probe counts. Expected flow: the
 * first such answer is suspected, a probe confirms it five seconds later, and an answer to the contrary clears it.
 * Times on the monotonic clock, in milliseconds.
 */
export class Suspicion {
  readonly #clock: Clock;
  readonly #onFirst: () => void;
  #current: { of: Suspect; since: number } | undefined;

  /** `onFirst`: something is suspected, so a probe becomes due. */
  constructor(clock: Clock, onFirst: () => void) {
    this.#clock = clock;
    this.#onFirst = onFirst;
  }

  /** When a probe is due that confirms the suspicion. */
  get confirmAt(): number {
    return (this.#current?.since ?? Number.POSITIVE_INFINITY) + confirmAfterMs;
  }

  get pending(): boolean {
    return this.#current !== undefined;
  }

  /** Whether the present answer confirms an earlier one; otherwise it is suspected from now on. */
  isConfirmed(of: Suspect): boolean {
    const now = this.#clock.monotonic();
    if (this.#current?.of !== of) {
      this.#current = { of, since: now };
      this.#onFirst();
      return false;
    }
    if (now < this.confirmAt) return false;
    this.#current = undefined;
    return true;
  }

  /** An answer proves the contrary. */
  clear(of: Suspect): void {
    if (this.#current?.of === of) this.#current = undefined;
  }

  /** A probe has ended: a suspicion that was due before its start and was not confirmed is over. */
  probed(startedAt: number): void {
    if (this.confirmAt <= startedAt) this.#current = undefined;
  }
}
