import type { Clock } from "../../../src/operator/runtime/clock.ts";

/** No process deletes more in any minute than its brake lets it, however often it led in that minute. */
export class BrakeGuard {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #report: (promise: string, message: string) => void;
  readonly #sent = new Map<string, readonly number[]>();

  constructor(clock: Clock, perMinute: number, report: (promise: string, message: string) => void) {
    this.#clock = clock;
    this.#perMinute = perMinute;
    this.#report = report;
  }

  /** A DELETE leaves. */
  sent(process: string): void {
    const now = this.#clock.monotonic();
    const lately = [...(this.#sent.get(process) ?? []).filter((at) => now - at < 60_000), now];
    this.#sent.set(process, lately);
    if (lately.length > this.#perMinute)
      this.#report(
        "deletion brake",
        `${process} deleted ${lately.length} within a minute, with ${this.#perMinute} allowed`,
      );
  }
}
