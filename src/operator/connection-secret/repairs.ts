import type { Clock } from "../runtime/clock.ts";

/** The waits between writes of one Secret, in milliseconds: they double from the shortest to the longest. */
const shortestMs = 1000;
const longestMs = 60_000;

/** A Secret that was not written for so long, in milliseconds, is repaired at once. */
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
 * Times of the repairs of connection Secrets, by the uid of their Computes: the first at once, the next ones ever
 * later. A policy or a tool that changes a Secret after each write would cost a reading of the service and a write each
 * time.
 */
export class Repairs {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #written = new Map<string, Written>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** True if the Secret may be written now; one for another declaration always may. */
  mayBegin(uid: string, source: string): boolean {
    const written = this.#written.get(uid);
    if (written?.source !== source) return true;
    written.isAwaited = this.#clock.monotonic() < dueAt(written);
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
    return written?.isAwaited === true && dueAt(written) > since ? dueAt(written) : undefined;
  }

  forget(uid: string): void {
    this.#written.delete(uid);
  }
}

function dueAt({ at, repairs }: Written): number {
  return repairs === 0 ? at : at + Math.min(longestMs, shortestMs * 2 ** (repairs - 1));
}
