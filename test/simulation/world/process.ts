import type { Cancel, Clock } from "../../../src/operator/runtime/clock.ts";

type State = "running" | "paused" | "dead";

/**
 * One operator process as the operating system sees it: it can be killed, after which nothing it waits for ever comes
 * and none of its timers run, and it can be stopped and woken again (SIGSTOP), after which everything comes at once.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly #world: Clock;
  #state: State = "running";
  readonly #held: (() => void)[] = [];
  /** How far the monotonic clock stood still while the process slept. */
  #stoodStillMs = 0;
  #pausedAt = 0;
  /** When its pending timers are due, on the world's clock. */
  readonly #timers = new Set<{ due: number }>();

  constructor(name: string, world: Clock) {
    this.name = name;
    this.#world = world;
    this.clock = {
      now: () => Math.floor(world.now()),
      monotonic: () => world.monotonic() - this.#stoodStillMs,
      after: (ms, task) => this.#after(ms, task),
    };
  }

  get state(): State {
    return this.#state;
  }

  /** When what it waits for is due, on the world's clock. */
  awaited(): number[] {
    return this.#state === "dead" ? [] : [...this.#timers].map(({ due }) => due);
  }

  /** Hands something to the process: a timer that fires, an answer that comes in. */
  deliver(task: () => void): void {
    if (this.#state === "running") task();
    else if (this.#state === "paused") this.#held.push(task);
  }

  /** A promise that the process waits for: it never settles once the process is dead. */
  wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.deliver(() => resolve(value)),
        (error: unknown) => this.deliver(() => reject(error)),
      );
    });
  }

  kill(): void {
    this.#state = "dead";
    this.#held.length = 0;
  }

  pause(): void {
    if (this.#state !== "running") return;
    this.#state = "paused";
    this.#pausedAt = this.#world.monotonic();
  }

  /** Wakes it; `slept` says that its monotonic clock stood still meanwhile, as with a suspended virtual machine. */
  resume(slept: boolean): void {
    if (this.#state !== "paused") return;
    if (slept) this.#stoodStillMs += this.#world.monotonic() - this.#pausedAt;
    this.#state = "running";
    for (const task of this.#held.splice(0)) task();
  }

  #after(waitMs: number, task: () => void): Cancel {
    // Node waits a millisecond at least; and what is left by a rounding error would not move the clock.
    const ms = waitMs > 0 ? Math.max(1, waitMs) : 0;
    let live = true;
    const timer = { due: this.#world.monotonic() + ms };
    this.#timers.add(timer);
    const cancel = this.#world.after(ms, () => {
      this.#timers.delete(timer);
      this.deliver(() => {
        if (live) task();
      });
    });
    return () => {
      live = false;
      this.#timers.delete(timer);
      cancel();
    };
  }
}
