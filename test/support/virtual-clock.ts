import type { Cancel, Clock } from "../../src/operator/runtime/clock.ts";

interface Task {
  due: number;
  order: number;
  run: (() => void) | undefined;
}

export interface VirtualClockOptions {
  /** Wall time at the start; 2026-01-01T00:00:00Z where left out. */
  startMs?: number;
  /**
   * Lets everything that can go on without time passing go on. By default it empties the microtask queue and no more,
   * which takes in everything but real I/O; a test over real sockets waits for those here.
   */
  settle?: () => Promise<void>;
}

/**
 * A clock that stands still until it is driven. Tasks run in the order of their due time, those of the same time in
 * the order in which they were scheduled, and each only when all that the one before set off has come to rest.
 */
export class VirtualClock implements Clock {
  readonly #settle: () => Promise<void>;
  readonly #heap: Task[] = [];
  #order = 0;
  #cancelled = 0;
  #monotonic = 0;
  #wall: number;
  #readMs = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#wall = options.startMs ?? Date.UTC(2026, 0, 1);
    this.#settle = options.settle ?? emptyMicrotasks;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    const now = this.#monotonic;
    if (this.#readMs > 0) this.#moveTo(now + this.#readMs);
    return now;
  }

  /** From now on the process computes so long after each look at the monotonic clock, as on a busy machine. */
  readsTake(ms: number): void {
    this.#readMs = ms;
  }

  after(ms: number, run: () => void): Cancel {
    const task: Task = { due: this.#monotonic + Math.max(0, ms), order: this.#order++, run };
    this.#push(task);
    return () => {
      if (task.run === undefined) return;
      task.run = undefined;
      this.#cancelled += 1;
      if (this.#cancelled > 64 && this.#cancelled > this.#heap.length / 2) this.#sweep();
    };
  }

  /** Moves wall time alone, as NTP or a person does. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  /** Lets wall time pass while the process sleeps: no task runs, and the monotonic clock stands still. */
  suspend(ms: number): void {
    this.stepWall(ms);
  }

  /** Runs what can run without time passing. */
  async settle(): Promise<void> {
    await this.#settle();
  }

  /** Lets `ms` milliseconds pass and runs all that falls due on the way, each at its time. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await this.#settle();
    while (await this.runNext(end)) {
      // Each turn runs one task.
    }
    this.#moveTo(Math.max(end, this.#monotonic));
  }

  /** Advances until `done` says so, task by task; fails when `limitMs` pass before. Answers the time it took. */
  async advanceUntil(done: () => boolean, limitMs: number): Promise<number> {
    const start = this.#monotonic;
    await this.#settle();
    while (!done()) {
      if (!(await this.runNext(start + limitMs))) {
        throw new Error(`still not so after ${limitMs} ms of virtual time (${this.pending} tasks pending)`);
      }
    }
    return this.#monotonic - start;
  }

  /** Runs the next task if it is due by `end` on the monotonic clock; answers whether there was one. */
  async runNext(end: number): Promise<boolean> {
    const task = this.#next();
    if (task === undefined || task.due > end) return false;
    this.#pop();
    this.#moveTo(Math.max(task.due, this.#monotonic));
    const run = task.run;
    task.run = undefined;
    run?.();
    await this.#settle();
    return true;
  }

  /** When the next task is due on the monotonic clock. */
  nextDue(): number | undefined {
    return this.#next()?.due;
  }

  /** How many tasks wait for their time. */
  get pending(): number {
    return this.#heap.length - this.#cancelled;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }

  #next(): Task | undefined {
    while (this.#heap[0] !== undefined && this.#heap[0].run === undefined) {
      this.#pop();
      this.#cancelled -= 1;
    }
    return this.#heap[0];
  }

  #sweep(): void {
    const live = this.#heap.filter((task) => task.run !== undefined);
    this.#heap.length = 0;
    this.#cancelled = 0;
    for (const task of live) this.#push(task);
  }

  #push(task: Task): void {
    const heap = this.#heap;
    let at = heap.push(task) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || earlier(parent, task)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = task;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      if (left === undefined) break;
      const right = heap[2 * at + 2];
      const [child, below] = right !== undefined && earlier(right, left) ? [right, 2 * at + 2] : [left, 2 * at + 1];
      if (!earlier(child, last)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
  }
}

function earlier(a: Task, b: Task): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

/** Node runs a tick only when no microtask is left; a turn of the event loop would cost many times more. */
function emptyMicrotasks(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
