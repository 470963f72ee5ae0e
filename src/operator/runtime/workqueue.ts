import { type Backoff, type Clock, delayOf, type Random } from "./clock.ts";
import { DueKeys } from "./due-keys.ts";
import { FairQueue } from "./fair-queue.ts";

export interface WorkQueueOptions {
  clock: Clock;
  random: Random;
  /** For `retry`. */
  backoff: Backoff;
  /** The flow of a key, as `tenant/flow`; called at each `add`, so it may change. Default: one flow for all keys. */
  flowOf?: (key: string) => string;
  /** Number of keys of one flow handled at a time. Default: no bound. */
  maxPerFlow?: number;
  /** Number of keys of one tenant handled at a time. Default: no bound. */
  maxPerTenant?: number;
}

/** Handles a key that waited this long in the queue, in milliseconds. */
type Handle = (key: string, waitedMs: number) => Promise<void>;

/** Result of a reconcile; without `requeueAfterMs` only a change brings the next one. */
export interface Reconciled {
  requeueAfterMs?: number | undefined;
}

/** Time for which handlers are started in a row before timers and sockets get their turn, in milliseconds. */
const sliceMs = 10;

/**
 * A queue of keys with the semantics of client-go's rate limiting workqueue, and fair flows.
 *
 * Expected flow: `add`, `addAfter` or `retry` enqueue a key; `run` calls the handler with each. A handler that throws
 * is retried with backoff; a handler that wants another run calls `addAfter`.
 * Guarantees: a key is never handled by two handlers at a time. A key that is added several times before its handler
 * starts is handled once; a key that is added while it is handled is handled once more. Of several delays of a key the
 * earliest counts, and a start drops the others. Every `add` is followed by a start, once a worker is free.
 * Assumptions: a handler ends. Handlers that wait for a slow server are reported by `changeBlockedWorkers`.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** Keys that wait for a worker, and since when. */
  readonly #ready: FairQueue<number, string>;
  readonly #delayed: DueKeys;
  readonly #running = new Set<string>();
  /** Keys that were added while they were handled. */
  readonly #dirty = new Set<string>();
  readonly #failures = new Map<string, number>();
  #lastFinishedAt: number;
  /** Handlers that only wait for a server: they occupy no worker. */
  #blockedWorkers = 0;
  #pumping = false;
  /** End of the time for which handlers are started in a row. */
  #sliceEndsAt: number | undefined;
  #yielding = false;
  #stopping = false;
  #closed = false;
  #work: { workers: number; handle: Handle; drained: () => void } | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    const { maxPerFlow: perFlow = Number.POSITIVE_INFINITY, maxPerTenant: perTenant = Number.POSITIVE_INFINITY } =
      options;
    this.#ready = new FairQueue({ perFlow, perTenant });
    this.#delayed = new DueKeys(options.clock, (key) => this.add(key));
    this.#lastFinishedAt = options.clock.monotonic();
  }

  /** Number of keys that wait for a worker, delayed keys not included. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Enqueues the key now. */
  add(key: string): void {
    if (this.#closed) return;
    this.#delayed.delete(key);
    if (this.#running.has(key)) {
      this.#dirty.add(key);
      return;
    }
    const since = this.#ready.get(key) ?? this.#options.clock.monotonic();
    this.#ready.put(key, this.#options.flowOf?.(key) ?? "", since);
    this.#pump();
  }

  /** True if the key is being handled, or its tenant has room for another: if it is enqueued, it soon starts. */
  mayStart(key: string): boolean {
    return this.#running.has(key) || this.#ready.hasRoom(this.#options.flowOf?.(key) ?? "");
  }

  /** Enqueues the key in `ms` milliseconds; of several delays of one key the earliest counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) return this.add(key);
    if (this.#closed || this.#ready.has(key) || this.#dirty.has(key)) return;
    const due = this.#options.clock.monotonic() + ms;
    if (due < (this.#delayed.timeOf(key) ?? Number.POSITIVE_INFINITY)) this.#delayed.set(key, due);
  }

  /** Enqueues the key after a delay that grows with each call until `forget`, at least `leastMs`. */
  retry(key: string, leastMs = 0): void {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    this.addAfter(key, Math.max(leastMs, delayOf(this.#options.backoff, failures, this.#options.random)));
  }

  /** Resets the delay of the next `retry`; a key that is already enqueued stays so. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Number of calls of `retry` since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * The number of handlers that only wait for a server changed: they keep their places in their flows, and other keys
   * get their workers.
   */
  changeBlockedWorkers(by: number): void {
    this.#blockedWorkers += by;
    this.#pump();
  }

  /**
   * For a health check that finds a stuck queue: how many keys could be handled now, how long the oldest of them has
   * waited (0 if there is none), and when a handler last finished, on the monotonic clock; before that, when the queue
   * was created or last run.
   */
  progress() {
    const now = this.#options.clock.monotonic();
    let oldestWaitMs = 0;
    for (const since of this.#ready.values()) oldestWaitMs = Math.max(oldestWaitMs, now - since);
    return { waiting: this.depth, oldestWaitMs, lastFinishedAt: this.#lastFinishedAt };
  }

  /**
   * Handles keys, at most `workers` at a time besides the blocked ones, until the signal aborts; resolves when the
   * handlers in flight have finished. Waiting keys stay for the next `run`.
   */
  async run(work: { workers: number; handle: Handle; signal: AbortSignal }): Promise<void> {
    if (this.#work !== undefined) throw new Error("this queue is already being run");
    if (work.signal.aborted) return;
    this.#lastFinishedAt = this.#options.clock.monotonic();
    this.#sliceEndsAt = undefined;
    await new Promise<void>((drained) => {
      this.#work = { workers: work.workers, handle: work.handle, drained };
      work.signal.addEventListener("abort", () => this.#stop());
      this.#pump();
    });
  }

  /** Ends the queue for good: drops all keys and timers, so nothing keeps the process alive or counts as waiting. */
  close(): void {
    this.#closed = true;
    this.#delayed.clear();
    this.#ready.clear();
  }

  #stop(): void {
    this.#stopping = true;
    this.#finishDrain();
  }

  #finishDrain(): void {
    if (!this.#stopping || this.#running.size > 0) return;
    const drained = this.#work?.drained;
    this.#work = undefined;
    this.#stopping = false;
    drained?.();
  }

  /** Starts handlers in a microtask: `add` never runs a handler before it returns. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#startHandlers();
    });
  }

  #startHandlers(): void {
    while (
      this.#work !== undefined &&
      !this.#stopping &&
      this.#running.size - this.#blockedWorkers < this.#work.workers
    ) {
      if (this.#mustYield()) return;
      const next = this.#ready.next();
      if (next === undefined) return;
      this.#running.add(next.key);
      void this.#handle(next.key, next.value, next.release, this.#work.handle);
    }
  }

  /** True if timers and sockets come first: handlers that wait for nothing would otherwise all run in one task. */
  #mustYield(): boolean {
    if (this.#yielding) return true;
    if (this.depth === 0) {
      this.#sliceEndsAt = undefined;
      return false;
    }
    const { clock } = this.#options;
    const now = clock.monotonic();
    this.#sliceEndsAt ??= now + sliceMs;
    if (now < this.#sliceEndsAt) return false;
    this.#yielding = true;
    clock.after(0, () => {
      this.#yielding = false;
      this.#sliceEndsAt = undefined;
      this.#pump();
    });
    return true;
  }

  async #handle(key: string, since: number, release: () => void, handle: Handle) {
    const { clock } = this.#options;
    let hasFailed = false;
    try {
      await handle(key, clock.monotonic() - since);
    } catch {
      hasFailed = true;
    }
    this.#running.delete(key);
    release();
    this.#lastFinishedAt = clock.monotonic();
    if (hasFailed) this.retry(key);
    if (this.#dirty.delete(key)) this.add(key);
    this.#finishDrain();
    this.#pump();
  }
}
