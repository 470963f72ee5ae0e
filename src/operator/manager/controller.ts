import { ClusterError, isStale } from "../kube/errors.ts";
import { NotLeader } from "../kube/leadership.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { RuntimePorts } from "../runtime/log.ts";
import type { Tracer } from "../runtime/tracer.ts";
import { type Reconciled, WorkQueue } from "../runtime/workqueue.ts";

/** The longest `Retry-After` of the API server that is waited out, in milliseconds: a proxy may ask for hours. */
const longestRetryAfterMs = 30_000;

/** So many flows of a tenant may have all their places taken before its other flows wait. */
const flowsPerTenant = 4;

export interface ControllerOptions extends RuntimePorts {
  kind: string;
  metrics: Metrics;
  tracer: Tracer;
  workers: number;
  /** As `tenant/flow`. */
  flowOf: (uid: string) => string;
  /** Namespace and name of the object for the log, if known. */
  nameOf: (uid: string) => { namespace?: string | undefined; name?: string | undefined };
  reconcile: (uid: string) => Promise<Reconciled>;
  /** Aborts what is in flight: a reconcile that fails after that is not retried. */
  stopped: AbortSignal;
}

/** Reconciles the objects of one kind: one reconcile at a time per object, retried with backoff if it fails. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly queue: WorkQueue;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { clock, random, flowOf, workers } = options;
    this.queue = new WorkQueue({
      clock,
      random,
      flowOf,
      backoff: { baseMs: 50, factor: 2, maxMs: 30_000, jitter: 0.3 },
      // A flow alone gets all workers. Reconciles that wait for a dead service occupy none, only places of its flow.
      maxPerFlow: workers,
      maxPerTenant: flowsPerTenant * workers,
    });
  }

  enqueue(uids: Iterable<string>): void {
    for (const uid of uids) this.queue.add(uid);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.queue.run({
      workers: this.#options.workers,
      signal,
      handle: (uid, waitedMs) => this.#handle(uid, waitedMs).catch((error: unknown) => this.#defect(uid, error)),
    });
  }

  /** Reconciles report their own failures: this is one of what surrounds them, and the queue retries it. */
  #defect(uid: string, error: unknown): never {
    this.#options.log.error({ kind: this.#options.kind, uid, error }, "A reconcile ended by a defect: retrying");
    throw error;
  }

  async #handle(uid: string, waitedMs: number): Promise<void> {
    const { kind, metrics, tracer, clock, nameOf } = this.#options;
    metrics.queueSeconds.observe({ kind }, waitedMs / 1000);
    const startedAt = clock.monotonic();
    const { namespace, name } = nameOf(uid);
    const result = await tracer.reconcile({ kind, uid, namespace, name, waitedMs }, () => this.#resultOf(uid));
    metrics.reconciles.add({ kind, result });
    metrics.reconcileSeconds.observe({ kind }, (clock.monotonic() - startedAt) / 1000);
  }

  async #resultOf(uid: string): Promise<string> {
    const { reconcile } = this.#options;
    try {
      const { requeueAfterMs } = await reconcile(uid);
      this.queue.forget(uid);
      // Timers have whole milliseconds: a sub-millisecond remainder would busy-loop.
      if (requeueAfterMs !== undefined) this.queue.addAfter(uid, Math.ceil(requeueAfterMs));
      return "ok";
    } catch (error) {
      return this.#failed(uid, error);
    }
  }

  #failed(uid: string, error: unknown): string {
    const { kind, log, metrics, stopped, nameOf } = this.#options;
    if (stopped.aborted) return "stopped";
    metrics.retries.add({ kind });
    const asked = error instanceof ClusterError ? (error.retryAfterMs ?? 0) : 0;
    this.queue.retry(uid, Math.min(asked, longestRetryAfterMs));
    // The lease can lapse for a moment (the wall clock jumped) and hold again; if it is lost, the queue ends.
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
