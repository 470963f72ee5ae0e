import type { Clock } from "../runtime/clock.ts";
import { hourlyMs } from "../runtime/waits.ts";

/** The wait before the next repair, in milliseconds, by the number of those before it. */
type Pace = (repairs: number) => number;

/** Of the data, which applications wait for: the first at once, then after waits that double up to a minute. */
export const dataPace: Pace = (repairs) => (repairs === 0 ? 0 : Math.min(60_000, 1000 * 2 ** (repairs - 1)));

/** Of the record of the password alone, which this process remembers too. */
export const recordPace: Pace = () => hourlyMs;

/** The repairs of a Secret that was not written for so long, in milliseconds, are counted from the start again. */
const calmMs = 600_000;

interface Written {
  /** The declaration that it was written for. */
  source: string;
  /** Number of writes after the first. */
  repairs: number;
  /** Monotonic milliseconds. */
  at: number;
  isAwaited: boolean;
}

/**
 * Times of the repairs of one part of the connection Secrets, by the uid of their Computes. A policy or a tool that
 * undoes each write would cost one each time, and of the data a reading of the service too.
 */
export class Repairs {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #pace: Pace;
  readonly #written = new Map<string, Written>();

  constructor(clock: Pick<Clock, "monotonic">, pace: Pace) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** True if the Secret may be written now; one for another declaration always may. */
  mayBegin(uid: string, source: string): boolean {
    const written = this.#written.get(uid);
    if (written?.source !== source) return true;
    written.isAwaited = this.#clock.monotonic() < this.#dueAt(written);
    return !written.isAwaited;
  }

  /** The Secret was written. */
  done(uid: string, source: string): void {
    const at = this.#clock.monotonic();
    const before = this.#written.get(uid);
    const isAgain = before?.source === source && at < before.at + calmMs;
    this.#written.set(uid, { source, repairs: isAgain ? before.repairs + 1 : 0, at, isAwaited: false });
  }

  /** The time, after `since`, of a repair that waits; `undefined`: none does. */
  nextAt(uid: string, since: number): number | undefined {
    const written = this.#written.get(uid);
    return written?.isAwaited === true && this.#dueAt(written) > since ? this.#dueAt(written) : undefined;
  }

  forget(uid: string): void {
    this.#written.delete(uid);
  }

  #dueAt({ at, repairs }: Written): number {
    return at + this.#pace(repairs);
  }
}
