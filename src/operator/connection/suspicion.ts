import type { Clock } from "../runtime/clock.ts";

/** What an answer may suggest of a key and its service. */
type Suspect = "unauthorized" | "unreachable";

/** It counts when a second answer, at least so much later, says the same. In milliseconds. */
const confirmAfterMs = 5000;

/**
 * Keeps a blip from ending a session's health: one 401 does not refuse a key, one failed probe does not make a
 * service unreachable. Expected flow: the first such answer is suspected, a probe confirms it five seconds later,
 * and any answer to the contrary ends it. Times on the monotonic clock, in milliseconds.
 */
export class Suspicion {
  readonly #clock: Clock;
  readonly #onFirst: () => void;
  #current: { of: Suspect; since: number } | undefined;

  /** `onFirst` is called when something is suspected: a probe becomes due. */
  constructor(clock: Clock, onFirst: () => void) {
    this.#clock = clock;
    this.#onFirst = onFirst;
  }

  /** When a probe is to confirm it. */
  get confirmAt(): number {
    return (this.#current?.since ?? Number.POSITIVE_INFINITY) + confirmAfterMs;
  }

  get pending(): boolean {
    return this.#current !== undefined;
  }

  /** Whether an answer of now confirms what was suspected before; else it is suspected from now on. */
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

  /** An answer shows that it is not so. */
  clear(of: Suspect): void {
    if (this.#current?.of === of) this.#current = undefined;
  }

  /**
   * A probe that began then has ended: what it was to confirm and did not is over, or it would be probed for ever.
   */
  probed(startedAt: number): void {
    if (this.confirmAt <= startedAt) this.#current = undefined;
  }
}
