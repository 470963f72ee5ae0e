import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import { LastSeen } from "./last-seen.ts";

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
