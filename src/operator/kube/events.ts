import { AsyncResource } from "node:async_hooks";
import { clippedMessage } from "../objects/conditions-of.ts";
import { setNewest } from "../runtime/caches.ts";
import { type Backoff, delayOf, type Random, sleep } from "../runtime/clock.ts";
import { FairQueue } from "../runtime/fair-queue.ts";
import type { RuntimePorts } from "../runtime/log.ts";
import type { ClusterClient } from "./client.ts";
import { isAlreadyExists, isNamespaceTerminating, isNotFound, isTransient } from "./errors.ts";
import {
  type EventInput,
  type EventSubject,
  events,
  type KubeEvent,
  newEvent,
  occurredAgain,
  type WrittenEvent,
} from "./event-record.ts";

export interface EventRecorderOptions extends RuntimePorts {
  client: ClusterClient;
  /** The reporting component, e.g. `compute-operator`. */
  component: string;
}

interface Pending {
  key: string;
  subject: EventSubject;
  input: EventInput;
  count: number;
  at: number;
}

/**
 * Events of one object that may be written in a burst, and the time after which one more is allowed: as in client-go.
 */
const burst = 25;
const refillMs = 60_000;
/** Some 6 MB: a fleet that is created at once has an event for each Compute, and they are written one at a time. */
const mostPending = 10_000;
const mostRemembered = 4096;
const attempts = 4;
const retryBackoff: Backoff = { baseMs: 500, factor: 3, maxMs: 10_000, jitter: 0.5 };

/**
 * Writes Events without delaying a reconcile.
 *
 * Expected flow: `record` returns at once; events are written one at a time, and namespaces take turns. Guarantees:
 * `record` never throws. The same event of the same object raises a count. An object that reports more than its share
 * loses the excess; when too many events wait, so does the namespace that has most of them. What the API server refuses
 * is logged and dropped.
 *
 * Core v1 instead of events.k8s.io: its count is what `kubectl describe` and `kubectl get events` show, and both need
 * the same rights.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #pending = new FairQueue<Pending, string>();
  /** Events already written, by content; least recently used first. */
  readonly #written = new Map<string, WrittenEvent>();
  readonly #spent = new Map<string, { tokens: number; at: number }>();
  readonly #stop = new AbortController();
  /** In no reconcile's trace: whichever records the first event, those of others are written too. */
  readonly #startWriting = AsyncResource.bind(() => this.#writeAll());
  #writing: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  record(subject: EventSubject, input: EventInput): void {
    const message = clippedMessage(input.message);
    const key = [subject.metadata.uid, input.type, input.reason, message].join("\n");
    if (!this.#mayWrite(subject.metadata.uid)) {
      this.#options.log.debug({ reason: input.reason, object: subject.metadata.name }, "Dropped an event: too many");
      return;
    }
    const waiting = this.#pending.get(key);
    const at = this.#options.clock.now();
    if (waiting !== undefined) {
      waiting.count += 1;
      waiting.at = at;
      return;
    }
    const { namespace = "" } = subject.metadata;
    if (this.#pending.size >= mostPending) {
      this.#options.log.warn({ reason: input.reason }, "Dropped an event: too many are waiting to be written");
      // A namespace with more than its share of waiting events takes no place from others.
      if (this.#pending.waitingOf(namespace) >= mostPending / (this.#pending.tenants + 1)) return;
      this.#pending.remove(this.#pending.oldestOfMost() ?? "");
    }
    this.#pending.put(key, namespace, { key, subject: aloneOf(subject), input: { ...input, message }, count: 1, at });
    this.#writing ??= this.#startWriting();
  }

  /** Resolves once every recorded event is written. When the signal aborts, the rest is dropped. */
  async drain(signal: AbortSignal): Promise<void> {
    const giveUp = () => this.#stop.abort(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // One tick later, so that events recorded together are counted together.
    await Promise.resolve();
    // Also those that are recorded meanwhile.
    for (let next = this.#pending.next(); next !== undefined; next = this.#pending.next()) {
      next.release();
      if (!this.#stop.signal.aborted) await this.#write(next.value);
    }
    this.#writing = undefined;
  }

  async #write(pending: Pending): Promise<void> {
    const { clock, random, log } = this.#options;
    const draft = newEvent(pending.subject, pending.input, {
      component: this.#options.component,
      at: pending.at,
      count: pending.count,
      suffix: uniqueSuffix(pending.at, random),
    });
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#send(pending, draft);
        return;
      } catch (error) {
        // The name is ours alone: an earlier try succeeded and only its answer was lost.
        if (isAlreadyExists(error)) return;
        if (!isTransient(error) || attempt === attempts || this.#stop.signal.aborted) {
          const fields = { reason: pending.input.reason, object: pending.subject.metadata.name, error };
          if (isNamespaceTerminating(error)) log.debug(fields, "Dropped an event: its namespace is being deleted");
          else log.warn(fields, "Lost an event");
          return;
        }
        await sleep(clock, delayOf(retryBackoff, attempt, random), this.#stop.signal).catch(() => {});
      }
    }
  }

  async #send(pending: Pending, draft: ReturnType<typeof newEvent>): Promise<void> {
    const { client } = this.#options;
    const signal = this.#stop.signal;
    const known = this.#written.get(pending.key);
    if (known !== undefined) {
      try {
        const ops = occurredAgain(known, pending.count, pending.at);
        this.#remember(pending.key, await client.patch(events, known.metadata, ops, { signal }));
        return;
      } catch (error) {
        // The API server deletes events after an hour, so this one is new.
        if (!isNotFound(error)) throw error;
        this.#written.delete(pending.key);
      }
    }
    this.#remember(pending.key, await client.create(events, draft, { signal }));
  }

  #remember(key: string, event: KubeEvent): void {
    const { name, namespace, uid, resourceVersion } = event.metadata;
    const metadata = { name, namespace, uid, resourceVersion };
    setNewest(this.#written, key, { metadata, count: event.count }, mostRemembered);
  }

  /** Takes a token from the object's bucket. */
  #mayWrite(uid: string): boolean {
    const now = this.#options.clock.monotonic();
    const before = this.#spent.get(uid) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, before.tokens + (now - before.at) / refillMs);
    setNewest(this.#spent, uid, { tokens: tokens < 1 ? tokens : tokens - 1, at: now }, mostRemembered);
    return tokens >= 1;
  }
}

/** The subject without the rest of its object, which would be kept in memory until the event is written. */
function aloneOf({ apiVersion, kind, metadata }: EventSubject): EventSubject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } };
}

function uniqueSuffix(at: number, random: Random): string {
  return `${at.toString(16)}${Math.floor(random() * 0x1_0000_0000)
    .toString(16)
    .padStart(8, "0")}`;
}
