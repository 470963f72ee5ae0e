import { type Backoff, delayOf } from "./backoff.ts";
import type { Cancel, Clock, Random } from "./clock.ts";
import { FairQueue } from "./fair-queue.ts";

/** What a queue tells whoever measures it; every member may be left out. Durations in milliseconds. */
export interface QueueObserver {
  depthChanged?(depth: number): void;
  started?(key: string, waitedMs: number): void;
  /** The handler threw; the key is retried. */
  failed?(key: string, error: unknown): void;
}

export interface WorkQueueOptions {
  clock: Clock;
  random: Random;
  /** For `retry`. */
  backoff: Backoff;
  /**
   * Which lane a key belongs to, as `tenant/lane`; asked at each add, so that the answer may change. One lane where
   * left out.
   */
  flowOf?: (key: string) => string;
  /** How many keys of one lane are handled at a time; no bound where left out. */
  maxPerFlow?: number;
  /** The same for all lanes of one tenant. */
  maxPerTenant?: number;
  observer?: QueueObserver;
}

/** For a health check that finds a loop which has stopped turning. */
export interface QueueProgress {
  /** Keys that could be handled now. */
  waiting: number;
  /** How long the first of them has waited, in milliseconds; 0 where none waits. */
  oldestWaitMs: number;
  /** When a handler last finished, on the monotonic clock; until then, when the queue was made or last set going. */
  lastFinishedAt: number;
}

/**
 * Keys to be handled, each by one handler at a time. Adding a key that already waits changes nothing; adding one that
 * is being handled has it handled once more afterwards. A run starts after every `add` and every `addAfter`, at the
 * latest when the earliest delay of its key is over and a worker is free; it answers for all that were asked before it
 * began, so the handler itself says when to look again. Semantics of client-go's workqueue, with fair lanes.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #ready: FairQueue;
  readonly #delayed = new Map<string, { due: number; cancel: Cancel }>();
  readonly #running = new Set<string>();
  /** Added while they were being handled. */
  readonly #dirty = new Set<string>();
  readonly #failures = new Map<string, number>();
  #lastFinishedAt: number;
  /** Handlers that only wait, and need no worker. */
  #idle = 0;
  #stopping = false;
  #closed = false;
  #work: { workers: number; handle: (key: string) => Promise<void>; drained: () => void } | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    const { maxPerFlow = Number.POSITIVE_INFINITY, maxPerTenant = Number.POSITIVE_INFINITY } = options;
    this.#ready = new FairQueue({ perFlow: maxPerFlow, perTenant: maxPerTenant });
    this.#lastFinishedAt = options.clock.monotonic();
  }

  /** How many keys wait for a worker; those with a delay that runs are not counted. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Asks for a run as soon as may be. */
  add(key: string): void {
    if (this.#closed) return;
    this.#undelay(key);
    if (this.#running.has(key)) {
      this.#dirty.add(key);
      return;
    }
    this.#ready.put(key, this.#options.flowOf?.(key) ?? "", this.#options.clock.monotonic());
    this.#options.observer?.depthChanged?.(this.depth);
    this.#pump();
  }

  /** Asks for a run in `ms` milliseconds; of several such wishes for one key the earliest counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) return this.add(key);
    if (this.#closed || this.#ready.has(key) || this.#dirty.has(key)) return;
    const due = this.#options.clock.monotonic() + ms;
    const before = this.#delayed.get(key);
    if (before !== undefined && before.due <= due) return;
    before?.cancel();
    const cancel = this.#options.clock.after(ms, () => this.add(key));
    this.#delayed.set(key, { due, cancel });
  }

  /** Asks for a run after a delay that grows with each call, until `forget`; after `leastMs` at the earliest. */
  retry(key: string, leastMs = 0): void {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    this.addAfter(key, Math.max(leastMs, delayOf(this.#options.backoff, failures, this.#options.random)));
  }

  /** The next `retry` of the key starts at the shortest delay again; what is already asked for stays. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** How often `retry` was called since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * So many more handlers only wait for somebody far away, or fewer: they keep their places in their lanes, and give
   * their workers to others.
   */
  waits(more: number): void {
    this.#idle += more;
    this.#pump();
  }

  progress(): QueueProgress {
    const oldest = this.#ready.oldest();
    const oldestWaitMs = oldest === undefined ? 0 : this.#options.clock.monotonic() - oldest;
    return { waiting: this.depth, oldestWaitMs, lastFinishedAt: this.#lastFinishedAt };
  }

  /**
   * Handles keys, at most `workers` at a time besides those that only wait, until the signal aborts; resolves once the
   * handlers then in flight have finished. What waits stays for the next `run`. A handler that throws is reported and
   * its key retried.
   */
  async run(work: { workers: number; handle: (key: string) => Promise<void>; signal: AbortSignal }): Promise<void> {
    if (this.#work !== undefined) throw new Error("this queue is already being run");
    if (work.signal.aborted) return;
    this.#lastFinishedAt = this.#options.clock.monotonic();
    await new Promise<void>((drained) => {
      this.#work = { workers: work.workers, handle: work.handle, drained };
      work.signal.addEventListener("abort", () => this.#stop());
      this.#pump();
    });
  }

  /**
   * Drops all that waits and all delays, and takes no more, so that nothing holds the process or is counted as waiting;
   * for when the queue will not be run again.
   */
  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#ready.clear();
    this.#options.observer?.depthChanged?.(0);
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

  #undelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  /** Starts what may start, in a microtask of its own: `add` never runs a handler before it returns. */
  #pump(): void {
    queueMicrotask(() => this.#startWhatMay());
  }

  #startWhatMay(): void {
    while (this.#work !== undefined && !this.#stopping && this.#running.size - this.#idle < this.#work.workers) {
      const next = this.#ready.next();
      if (next === undefined) return;
      this.#running.add(next.key);
      this.#options.observer?.depthChanged?.(this.depth);
      void this.#handle(next.key, next.since, next.release, this.#work.handle);
    }
  }

  async #handle(key: string, since: number, release: () => void, handle: (key: string) => Promise<void>) {
    const { clock, observer } = this.#options;
    observer?.started?.(key, clock.monotonic() - since);
    let failure: { error: unknown } | undefined;
    try {
      await handle(key);
    } catch (error) {
      failure = { error };
    }
    this.#running.delete(key);
    release();
    this.#lastFinishedAt = clock.monotonic();
    if (failure !== undefined) this.retry(key);
    if (this.#dirty.delete(key)) this.add(key);
    if (failure !== undefined) observer?.failed?.(key, failure.error);
    this.#finishDrain();
    this.#pump();
  }
}
