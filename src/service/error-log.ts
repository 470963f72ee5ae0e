import type { ServiceClock } from "./clock.ts";
import { StoreFull } from "./refusal.ts";

/** After how long without a failed write a full disk is a new one, in milliseconds. */
const quietMs = 60_000;

/** Writes internal errors into the log, and of a full disk one line, however many writes fail. */
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
      if (since > quietMs) stderr(`The disk of the service is full: its calls answer 507 until there is room again.`);
    } else {
      stderr(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
}
