import { ClusterError, isStale } from "../kube/errors.ts";
import { NotLeader } from "../kube/leadership.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Clock, Random } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { type QueueProgress, WorkQueue } from "../runtime/workqueue.ts";

/** The longest `Retry-After` of the API server that is waited out, in milliseconds: a proxy may ask for hours. */
const longestRetryAfterMs = 30_000;

export interface ControllerOptions {
  kind: string;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics;
  workers: number;
  /** As `tenant/lane`. */
  flowOf: (uid: string) => string;
  /** The object's name for the log, as far as it is known. */
  nameOf: (uid: string) => { namespace?: string | undefined; name?: string | undefined };
  /** One pass; answers with the milliseconds until the next look, where one is due without news. */
  reconcile: (uid: string) => Promise<number | undefined>;
  /** Ends what is in flight: a pass that fails after that is not repeated. */
  stopped: AbortSignal;
}

/** The passes over the objects of one kind: one at a time per object, repeated when they fail. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { clock, random, metrics, kind, flowOf, workers } = options;
    this.#queue = new WorkQueue({
      clock,
      random,
      flowOf,
      backoff: { baseMs: 50, factor: 2, maxMs: 30_000, jitter: 0.3 },
      maxPerFlow: Math.max(1, Math.ceil(workers / 4)),
      maxPerTenant: workers,
      observer: {
        depthChanged: (depth) => metrics.queueDepth.set({ kind }, depth),
        started: (_, waitedMs) => metrics.queueSeconds.observe({ kind }, waitedMs / 1000),
        failed: () => metrics.retries.add({ kind }),
      },
    });
  }

  enqueue(uids: Iterable<string>): void {
    for (const uid of uids) this.#queue.add(uid);
  }

  /** So many more passes wait for the service, and need no worker meanwhile. */
  changeBlockedWorkers(by: number): void {
    this.#queue.changeBlockedWorkers(by);
  }

  progress(): QueueProgress {
    return this.#queue.progress();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run({ workers: this.#options.workers, signal, handle: (uid) => this.#handle(uid) });
  }

  close(): void {
    this.#queue.close();
  }

  async #handle(uid: string): Promise<void> {
    const { kind, metrics, clock, reconcile } = this.#options;
    const startedAt = clock.monotonic();
    let result = "ok";
    try {
      const again = await reconcile(uid);
      this.#queue.forget(uid);
      // Whole milliseconds, as timers have them: what is left of one would have it looked at again and again.
      if (again !== undefined) this.#queue.addAfter(uid, Math.ceil(again));
    } catch (error) {
      result = this.#failed(uid, error);
    }
    metrics.reconciles.add({ kind, result });
    metrics.reconcileSeconds.observe({ kind }, (clock.monotonic() - startedAt) / 1000);
  }

  #failed(uid: string, error: unknown): string {
    const { kind, log, stopped, nameOf } = this.#options;
    if (stopped.aborted) return "stopped";
    const asked = error instanceof ClusterError ? (error.retryAfterMs ?? 0) : 0;
    this.#queue.retry(uid, Math.min(asked, longestRetryAfterMs));
    // A claim can lapse for a moment (the wall clock jumped) and hold again; where it is lost, the queue ends with it.
    if (error instanceof NotLeader) return "stopped";
    const { namespace, name } = nameOf(uid);
    const fields = { kind, namespace, name, uid };
    if (isStale(error)) {
      log.debug(fields, "Reconciled an outdated object: reconciling it again");
      return "stale";
    }
    log.warn({ ...fields, error }, "The reconcile failed: retrying");
    return "error";
  }
}
