import type { Cancel, Clock } from "../../src/operator/runtime/clock.ts";

/**
 * The clock of one process among several on the same world clock: the process can be stopped, and its machine sleep.
 */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  /** Tasks that fell due while the process stood still. */
  #held: Set<() => void> | undefined;
  #asleepSince: number | undefined;
  /** By how much its monotonic clock is behind the world's, having stood still while the machine slept. */
  #slept = 0;

  constructor(world: Clock) {
    this.#world = world;
  }

  now(): number {
    return this.#world.now();
  }

  monotonic(): number {
    return (this.#asleepSince ?? this.#world.monotonic()) - this.#slept;
  }

  after(ms: number, task: () => void): Cancel {
    const whenDue = () => {
      if (this.#held === undefined) task();
      else this.#held.add(task);
    };
    const cancel = this.#world.after(ms, whenDue);
    return () => {
      cancel();
      this.#held?.delete(task);
    };
  }

  /** As SIGSTOP: time passes, and the process does nothing. */
  stop(): void {
    this.#held ??= new Set();
  }

  /** As the suspension of its machine: besides, its monotonic clock stands still. */
  sleep(): void {
    this.stop();
    this.#asleepSince ??= this.#world.monotonic();
  }

  /** Goes on: what fell due meanwhile runs now, in its order. */
  resume(): void {
    if (this.#asleepSince !== undefined) this.#slept += this.#world.monotonic() - this.#asleepSince;
    this.#asleepSince = undefined;
    const held = this.#held ?? new Set();
    this.#held = undefined;
    for (const task of held) task();
  }
}
