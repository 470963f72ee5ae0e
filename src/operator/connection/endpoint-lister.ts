import type { Operation } from "../../api/operation.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority-queue.ts";
import type { RequestReservation } from "../service-client/request-reservation.ts";
import { steadyMessage } from "../service-client/same-words.ts";
import { changesBetween } from "./list-changes.ts";
import { ListSchedule } from "./list-schedule.ts";
import type { Listing } from "./listing.ts";
import { unseen } from "./messages.ts";
import { Operations } from "./operations.ts";
import { longPauseMs } from "./pause.ts";
import { ProjectUsers } from "./project-users.ts";
import { ProjectVisibility } from "./project-visibility.ts";
import type { RefreshInterval } from "./refresh-interval.ts";
import { ProjectWriteLimiter } from "./write-limiter.ts";

export interface EndpointListerOptions {
  /** For lists and polls, which no reconcile waits for. */
  client: ServiceClient;
  /** For the requests of a reconcile; defaults to `client`. */
  reconcileClient?: ServiceClient;
  projectID: string;
  clock: Clock;
  refreshIntervalMs: () => number;
  /** Learns how late lists are, and knows the interval in force. */
  refreshes?: Pick<RefreshInterval, "due" | "begun" | "leave" | "inForceMs">;
  /** Enqueues these Computes. */
  enqueue: (uids: Iterable<string>) => void;
  signal: AbortSignal;
  onListed?: ((projectID: string, listing: Listing) => void) | undefined;
  onOperationEnded?: ((operation: Operation) => void) | undefined;
  /** The last Compute has left. */
  onUnused?: () => void;
}

/**
 * One endpoint list per project, shared by all its Computes.
 *
 * Expected flow: each reconcile calls `use`, then `listedAfter` with the time that the list must be newer than. It gets
 * the present list, or a list is made and the Compute is enqueued when it is there. Without demand the project is
 * listed once per refresh interval, and a list that differs enqueues the Computes that the change affects.
 * Guarantees: at most one list is in flight per project. A list shows every write that ended before its request began;
 * older lists are not returned to a caller that asks for a newer one. While lists fail, none is returned.
 * Assumptions: a list is complete; the service shows a write in every list that begins after the write's end.
 */
export class EndpointLister {
  readonly #options: EndpointListerOptions;
  readonly operations: Operations;
  readonly writeLimiter: ProjectWriteLimiter;
  readonly #users = new ProjectUsers();
  readonly #schedule: ListSchedule;
  readonly #visibility: ProjectVisibility;
  /** When a write to each endpoint last ended, until a list begins after it. */
  readonly #written = new Map<string, number>();
  #listing: Listing | undefined;
  #failure: Failure | undefined;

  constructor(options: EndpointListerOptions) {
    this.#options = options;
    const { client, projectID, clock, signal, refreshIntervalMs, refreshes, enqueue } = options;
    const isUsed = () => this.#users.size > 0;
    this.#visibility = new ProjectVisibility({
      clock,
      signal,
      intervalMs: () => refreshes?.inForceMs ?? refreshIntervalMs(),
      isUsed,
      onLost: () => this.#enqueueAll(),
    });
    this.#schedule = new ListSchedule({
      client,
      clock,
      signal,
      refreshIntervalMs,
      refreshes,
      lostAt: () => this.#visibility.lostAt,
      isUsed,
      list: (reserved) => void this.#list(reserved),
      // In a long pause, the Computes that wait for this list say so.
      onCalled: () => {
        if (this.client.closedForMs > longPauseMs) enqueue(this.#users.waiting);
      },
    });
    this.operations = new Operations({
      client,
      projectID,
      clock,
      signal,
      priority: () => (this.#schedule.need === "resolve" ? "resolve" : "follow"),
      onEnded: options.onOperationEnded,
      onChange: (endpointID) => this.#operationsChanged(endpointID),
    });
    this.writeLimiter = new ProjectWriteLimiter({ enqueue, busy: () => this.operations.busy });
  }

  /** For the requests of a reconcile. */
  get client(): ServiceClient {
    return this.#options.reconcileClient ?? this.#options.client;
  }

  get listing(): Listing | undefined {
    return this.#listing;
  }

  /** Why the latest lists failed. A single failure after a good list does not count: the next list follows soon. */
  get failure(): Failure | undefined {
    return this.#listing !== undefined && this.#schedule.failures < 2 ? undefined : this.#failure;
  }

  /** Why the project is not seen any more; `undefined` while the newest list still counts. */
  get unseen(): Failure | undefined {
    if (!this.#visibility.isLost) return undefined;
    return this.#failure ?? { kind: "unavailable", message: unseen };
  }

  /** What a reconcile of this Compute may send; the Compute is enqueued when its turn comes. */
  reservation(uid: string): RequestReservation {
    return this.client.reservation(uid, () => this.enqueue(uid));
  }

  enqueue(uid: string): void {
    this.#options.enqueue([uid]);
  }

  /** A Compute uses this project, and is linked to this endpoint. */
  use(uid: string, endpointID: string | undefined): void {
    this.#users.use(uid, endpointID);
    this.#schedule.start();
    this.#visibility.start();
  }

  /** The refresh interval may have changed: the next list is due by the new one. */
  reschedule(): void {
    this.#schedule.plan();
    this.#visibility.plan();
  }

  leave(uid: string): void {
    this.#users.leave(uid);
    this.writeLimiter.leave(uid);
    this.client.leave(uid);
    if (this.#users.size > 0) return;
    this.reschedule();
    this.#options.onUnused?.();
  }

  /**
   * Returns a list whose request began after `after`. If there is none, a list with this priority is planned and the
   * Compute is enqueued when it is there. While lists fail, none is returned: the next good list decides.
   */
  listedAfter(after: number, uid: string, priority: Priority = "follow"): Listing | undefined {
    const counts = this.failure === undefined && !this.#visibility.isLost;
    if (counts && this.#listing !== undefined && this.#listing.startedAt > after) return this.#listing;
    this.#users.wait(uid);
    this.#schedule.want(after, priority);
    return undefined;
  }

  /** A write to this endpoint has just ended: lists that began before do not count for it any more. */
  wrote(endpointID: string): number {
    const now = this.#options.clock.monotonic();
    this.#written.set(endpointID, now);
    return now;
  }

  /** The end of the last write to an endpoint: lists must be newer. */
  writtenAt(endpointID: string | undefined): number {
    return this.#written.get(endpointID ?? "") ?? Number.NEGATIVE_INFINITY;
  }

  stop(): void {
    this.#visibility.stop();
    this.#schedule.stop();
    this.operations.stop();
  }

  /** `undefined`: no operation blocks the project any more. */
  #operationsChanged(endpointID: string | undefined): void {
    if (endpointID === undefined) {
      this.writeLimiter.offer();
      return;
    }
    const linked = this.#users.linkedTo(endpointID);
    if (this.operations.isBusyWith(endpointID)) {
      this.#options.enqueue(linked);
      return;
    }
    // The operation is over: its Computes are enqueued with a list that shows its result.
    const now = this.#options.clock.monotonic();
    for (const uid of linked) this.listedAfter(now, uid);
  }

  #enqueueAll(): void {
    const all = this.#users.takeAll();
    this.#schedule.met();
    this.#options.enqueue(all);
  }

  async #list(client: ServiceClient): Promise<void> {
    const { projectID, clock, signal } = this.#options;
    const startedAt = clock.monotonic();
    this.#schedule.begin(startedAt);
    try {
      const answer = await client.listEndpoints(projectID, signal);
      this.#schedule.answered(answer.kind === "ok");
      if (answer.kind === "ok") this.#listed({ endpoints: answer.value, startedAt, endedAt: clock.monotonic() });
      else this.#listFailed(answer);
    } catch {
      // Aborted: the process is stopping.
    } finally {
      this.#schedule.end();
      this.#visibility.plan();
    }
  }

  #listed(listing: Listing): void {
    const { projectID, onListed, enqueue } = this.#options;
    const before = this.#listing;
    const wasLost = this.#visibility.listed();
    this.#failure = undefined;
    this.#listing = listing;
    for (const [id, at] of this.#written) if (at < listing.startedAt) this.#written.delete(id);
    onListed?.(projectID, listing);
    if (wasLost) return this.#enqueueAll();
    const affected = this.#users.takeAffected(changesBetween(before?.endpoints, listing.endpoints));
    this.#schedule.met();
    enqueue(affected);
  }

  #listFailed(failure: Failure): void {
    this.#failure = { ...failure, message: steadyMessage(this.#failure?.message, failure.message) };
    this.#visibility.failed(failure);
    const waiting = this.#users.takeWaiting();
    this.#schedule.met();
    this.#options.enqueue(waiting);
  }
}
