import type { Endpoint } from "../../api/endpoint.ts";
import { earliest } from "../runtime/clock.ts";
import type { Answer, Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority.ts";
import type { RequestReservation } from "../service-client/request-reservation.ts";
import { BranchLister } from "./branch-lister.ts";
import { changesBetween, type ListChanges, type Listing } from "./list-changes.ts";
import { Lister } from "./lister.ts";
import type { EndpointListerOptions } from "./lister-options.ts";
import { OperationTimes } from "./operation-times.ts";
import { Operations } from "./operations.ts";
import { Overlay } from "./overlay.ts";
import { PendingEndpoints } from "./pending-endpoints.ts";
import { type Interests, ProjectUsers } from "./project-users.ts";
import { ProjectWriteLimiter } from "./write-limiter.ts";
import { WriteWindow } from "./write-window.ts";

/** The service's text where lists go on failing without one. */
const unseen = "the endpoints of the project could not be listed for three refresh intervals";

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
  readonly branches: BranchLister;
  readonly writeLimiter: ProjectWriteLimiter;
  /** Endpoints that a write has been sent to, until it ends. */
  readonly underWay = new Set<string>();
  readonly #pending = new PendingEndpoints();
  readonly #users = new ProjectUsers();
  readonly #lists: Lister<Listing>;
  /** End of the last write to each endpoint, until a list begins after it. */
  readonly #written = new Map<string, number>();
  readonly #overlay = new Overlay();
  /** Endpoints that the answers to writes show, and lists do not. */
  readonly answers: Pick<Overlay, "has"> = this.#overlay;
  /** Endpoints that this process made and no list has shown yet. */
  readonly #unlisted = new Set<string>();
  #observed: Listing | undefined;

  constructor(options: EndpointListerOptions) {
    this.#options = options;
    const { client, projectID, clock, signal, log, refreshIntervalMs, refreshes, enqueue } = options;
    const shared = {
      client,
      projectID,
      clock,
      signal,
      log,
      refreshIntervalMs,
      enqueue,
      tenant: () => this.#users.tenant,
    };
    this.#lists = new Lister({
      ...shared,
      refreshes,
      list: (admitted, startedAt) => this.#list(admitted, startedAt),
      onListed: (listing) => this.#listed(listing),
      isUsed: () => this.#users.size > 0,
      users: () => this.#users.uids,
      unseen,
    });
    this.branches = new BranchLister(shared);
    this.operations = new Operations({
      ...shared,
      priority: () => (this.#lists.need === "resolve" ? "resolve" : "follow"),
      isAtRestAfter: (endpointID, after) => this.#isAtRestAfter(endpointID, after),
      onEnded: options.onOperationEnded,
      times: options.times ?? new OperationTimes(),
      onPolled: (endpointIDs) => this.#polled(endpointIDs),
    });
    const { window = new WriteWindow(clock), showsNames = () => true, mayStart } = options;
    const { followed: operations } = this.operations;
    this.writeLimiter = new ProjectWriteLimiter({ clock, window, showsNames, enqueue, mayStart, operations });
  }

  get client(): ServiceClient {
    return this.#options.client;
  }

  /** The latest list, as the service answered it. */
  get listing(): Listing | undefined {
    return this.#lists.latest;
  }

  /** The latest list with the answers to later writes laid over it; `undefined` while lists fail. */
  get observed(): Listing | undefined {
    return this.failure === undefined && this.unseen === undefined ? this.#observed : undefined;
  }

  /** True while no list has shown this endpoint, which this process made. */
  isUnlisted(endpointID: string): boolean {
    return this.#unlisted.has(endpointID);
  }

  /** Failure of the latest lists. */
  get failure(): Failure | undefined {
    return this.#lists.failure;
  }

  /** Reason why the project is not seen any more; `undefined` while the newest list still counts. */
  get unseen(): Failure | undefined {
    return this.#lists.unseen;
  }

  /** Request budget for a reconcile of this Compute; the Compute is enqueued when its turn comes. */
  reservation(uid: string, namespace: string): RequestReservation {
    const { mayStart } = this.#options;
    return this.client.reservation(
      uid,
      () => this.enqueue(uid),
      namespace,
      () => mayStart?.(uid) !== false,
    );
  }

  /** All users are reconciled again. */
  enqueueAll(): void {
    this.#options.enqueue(this.#users.uids);
  }

  enqueue(uid: string): void {
    this.#options.enqueue([uid]);
  }

  /** A Compute uses this project, and is linked to this endpoint; `interests`: what else of the project affects it. */
  use(uid: string, endpointID: string | undefined, interests?: Interests, namespace?: string): void {
    this.#users.use(uid, endpointID, interests, namespace);
    this.branches.use(uid, interests?.branchName);
    this.#lists.start();
  }

  /** The refresh interval may have changed: the next list is due by the new one. */
  reschedule(): void {
    this.#lists.reschedule();
    this.branches.reschedule();
  }

  leave(uid: string): void {
    for (const part of [this.#users, this.#lists, this.branches, this.writeLimiter, this.client]) part.leave(uid);
    if (this.#users.size === 0) this.#options.onUnused?.();
  }

  /**
   * Returns a list whose request began after `after`, with later answers laid over it. If there is none, a list with
   * this priority is planned and the Compute is enqueued when it is there. While lists fail, none is returned: the
   * next good list decides.
   */
  listedAfter(after: number, uid: string, priority: Priority = "follow"): Listing | undefined {
    const { observed } = this;
    if (observed !== undefined && observed.startedAt > after) return observed;
    this.#lists.ask(uid, after, priority);
    return undefined;
  }

  /** True if a Compute waits for the next list, or one of its endpoint's operations brings one when it ends. */
  isExpected(uid: string, endpointID: string | undefined): boolean {
    return this.#lists.waits(uid) || this.operations.followed.isBusyWith(endpointID ?? "");
  }

  /** Since when a change of this endpoint is in progress, by lists and by the operations that are followed. */
  busySince(endpointID: string): number | undefined {
    return earliest([this.#pending.since(endpointID), this.operations.followed.busySince(endpointID)]);
  }

  /** A write to this endpoint has just ended: lists that began before do not count for it any more. */
  wrote(endpointID: string): number {
    const now = this.#options.clock.monotonic();
    this.#written.set(endpointID, now);
    this.#overlay.remove(endpointID);
    this.#observe();
    return now;
  }

  /**
   * A write has just ended, and its answer shows the whole endpoint: it is observed so until lists show it. `isMade`:
   * the write made it. Returns when it ended; steps that need a list need one from after that.
   */
  answered(endpoint: Endpoint, isMade = false): number {
    const now = this.#options.clock.monotonic();
    this.#written.set(endpoint.id, now);
    if (isMade) this.#unlisted.add(endpoint.id);
    this.#overlay.lay(endpoint, now);
    this.#options.enqueue(this.#users.affectedBy(this.#observe()));
    // The end of operations brings a list; where there are none, lists are to show it all the same.
    if (!this.operations.followed.isBusyWith(endpoint.id)) this.#lists.want(now, "follow");
    return now;
  }

  /** The end of the last write to an endpoint: lists must be newer, where its answer is not laid over them. */
  writtenAt(endpointID: string | undefined): number {
    return this.#written.get(endpointID ?? "") ?? Number.NEGATIVE_INFINITY;
  }

  stop(): void {
    for (const part of [this.#lists, this.branches, this.operations, this.writeLimiter]) part.stop();
  }

  #polled(endpointIDs: ReadonlySet<string>): void {
    const now = this.#options.clock.monotonic();
    for (const endpointID of endpointIDs) {
      const linked = this.#users.linkedTo(endpointID);
      if (this.operations.followed.isBusyWith(endpointID)) this.#options.enqueue(linked);
      // The operation is over: its Computes are enqueued with a list that shows its result.
      else for (const uid of linked) this.listedAfter(now, uid);
    }
    this.writeLimiter.offer();
  }

  /** A list that is needed for this is planned. */
  #isAtRestAfter(endpointID: string, after: number): boolean {
    const isAtRest = this.#pending.isAtRestAfter(endpointID, after);
    if (isAtRest === undefined) this.#lists.want(after, "follow");
    return isAtRest === true;
  }

  async #list(client: ServiceClient, startedAt: number): Promise<Answer<Listing>> {
    const { projectID, clock, signal } = this.#options;
    const answer = await client.listEndpoints(projectID, signal);
    if (answer.kind !== "ok") return answer;
    return { ...answer, value: { endpoints: answer.value, startedAt, endedAt: clock.monotonic() } };
  }

  /** Returns the Computes that the list affects. */
  #listed(listing: Listing): Iterable<string> {
    const { projectID, onListed, clock } = this.#options;
    this.#pending.listed(listing);
    for (const [id, at] of this.#written) if (at < listing.startedAt) this.#written.delete(id);
    if (this.#unlisted.size > 0) for (const { id } of listing.endpoints) this.#unlisted.delete(id);
    const isUndecided = this.#overlay.listed(listing, (id) => this.operations.followed.endedAt(id));
    const affected = this.#users.affectedBy(this.#observe());
    onListed?.(projectID, listing);
    if (isUndecided) this.#lists.want(clock.monotonic(), "follow");
    return affected;
  }

  /** Lays the answers over the latest list again; returns what differs from before. */
  #observe(): ListChanges {
    const before = this.#observed?.endpoints ?? [];
    this.#observed = this.listing && this.#overlay.over(this.listing);
    return changesBetween(before, this.#observed?.endpoints ?? []);
  }
}
