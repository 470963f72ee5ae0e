import type { ServiceClock } from "./clock.ts";
import { StoreFull } from "./refusal.ts";

/** After how long without a failed write a full disk is a new one, in milliseconds. */
const quietMs = 60_000;

const fullDisk = "is full: its calls answer 507 until there is room";

/** Writes internal errors into the log, and of a disk that takes nothing one line, however many writes fail. */
export class ErrorLog {
  readonly #ports: { clock: ServiceClock; stderr: (line: string) => void };
  #lastFull = Number.NEGATIVE_INFINITY;

  constructor(ports: { clock: ServiceClock; stderr: (line: string) => void }) {
    this.#ports = ports;
  }

  report(error: unknown): void {
    const { clock, stderr } = this.#ports;
    if (error instanceof StoreFull) {
      const since = clock.now() - this.#lastFull;
      this.#lastFull = clock.now();
      const { failure } = error;
      const what = failure ? `fails (${failure.message}): its calls answer 507 until it works` : fullDisk;
      if (since > quietMs) stderr(`The disk of the service ${what} again.`);
    } else {
      stderr(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
}
