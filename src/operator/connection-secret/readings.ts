import { hash } from "node:crypto";
import type { Clock } from "../runtime/clock.ts";
import { hourlyMs } from "../runtime/waits.ts";

/** The wait after a question that failed whether a Secret's password still holds. */
const readAgainMs = 300_000;

/**
 * Times at which the Secrets are read again, by the uid of their Computes: hourly. The first time is within the second
 * half of the first hour, by the uid, so that a fleet that was created, or taken over, at once does not ask at once.
 */
export class Readings {
  readonly #clock: Clock;
  readonly #dueAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True once the time has come; the first question of this process sets it. */
  isDue(uid: string): boolean {
    const now = this.#clock.monotonic();
    const dueAt = this.#dueAt.get(uid) ?? now + hourlyMs * (0.5 + shareOf(uid) / 2);
    this.#dueAt.set(uid, dueAt);
    return now >= dueAt;
  }

  /**
   * The time at which the Secret is due, for a reconcile that began at `since`; one that was overdue by then waits for
   * what holds it up. One that fell due meanwhile may have been asked for too soon: its time has passed.
   */
  nextAt(uid: string, since: number): number | undefined {
    const dueAt = this.#dueAt.get(uid);
    return dueAt !== undefined && dueAt > since ? dueAt : undefined;
  }

  succeeded(uid: string): void {
    this.#dueAt.set(uid, this.#clock.monotonic() + hourlyMs);
  }

  failed(uid: string): void {
    this.#dueAt.set(uid, this.#clock.monotonic() + readAgainMs);
  }

  /** The password may have been changed for another Compute: it is read at once. */
  dueNow(uid: string): void {
    this.#dueAt.set(uid, this.#clock.monotonic());
  }

  /** The end of its readings: the Secret names no password that can change, or its Compute is gone. */
  stop(uid: string): void {
    this.#dueAt.delete(uid);
  }
}

/** A number in [0, 1) that a uid always has. */
function shareOf(uid: string): number {
  return hash("sha256", uid, "buffer").readUInt32BE(0) / 2 ** 32;
}
