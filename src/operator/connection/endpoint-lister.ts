import type { Endpoint } from "../../api/endpoint.ts";
import type { Operation } from "../../api/operation.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority-queue.ts";
import type { RequestReservation } from "../service-client/request-reservation.ts";
import { steadyMessage } from "../service-client/same-words.ts";
import { LastSeen } from "./last-seen.ts";
import { changesBetween } from "./list-changes.ts";
import { ListDemand } from "./list-demand.ts";
import type { Listing } from "./listing.ts";
import { unseen } from "./messages.ts";
import { Operations } from "./operations.ts";
import { longPauseMs } from "./pause.ts";
import type { RefreshInterval } from "./refresh-interval.ts";
import { ProjectWriteLimiter } from "./write-limiter.ts";

export interface EndpointListerOptions {
  /** For lists and polls, which no pass waits for. */
  client: ServiceClient;
  /** For passes; left out: the same. */
  passes?: ServiceClient;
  projectID: string;
  clock: Clock;
  refreshIntervalMs: () => number;
  /** Learns how late lists come, and knows how far apart they are. */
  refreshes?: Pick<RefreshInterval, "due" | "begun" | "leave" | "inForceMs">;
  /** Has these Computes looked at again. */
  enqueue: (uids: Iterable<string>) => void;
  signal: AbortSignal;
  onListed?: ((projectID: string, listing: Listing) => void) | undefined;
  onOperationEnded?: ((operation: Operation) => void) | undefined;
  /** The last Compute has left. */
  onUnused?: () => void;
}

/** One endpoint list per project, shared by all its Computes: refreshed in time, and sooner when somebody needs it. */
export class EndpointLister {
  readonly #options: EndpointListerOptions;
  readonly operations: Operations;
  readonly turn: ProjectWriteLimiter;
  /** Which endpoint each Compute that uses this project is linked to. */
  readonly #users = new Map<string, string | undefined>();
  readonly #waiting = new Set<string>();
  /** When a write to each endpoint last ended, as long as no list was begun since. */
  readonly #written = new Map<string, number>();
  #listing: Listing | undefined;
  #failure: Failure | undefined;
  readonly #demand = new ListDemand();
  #inFlight = false;
  #timer: Cancel | undefined;
  readonly #lastSeen: LastSeen;
  #lossTimer: Cancel | undefined;
  /** Whether the Computes were enqueued because the project is not seen any more. */
  #lossTold = false;
  /** A list is due, and waits for the request budget. */
  #inLine = false;

  constructor(options: EndpointListerOptions) {
    this.#options = options;
    const { client, projectID, clock, signal, enqueue } = options;
    this.#lastSeen = new LastSeen(clock.monotonic());
    this.operations = new Operations({
      client,
      projectID,
      clock,
      signal,
      priority: () => (this.#demand.need === "resolve" ? "resolve" : "follow"),
      onEnded: options.onOperationEnded,
      onChange: (endpointID) => {
        if (endpointID === undefined) this.turn.offer();
        else if (this.operations.isBusyWith(endpointID)) enqueue(this.#usersOf(endpointID));
        else this.#showAfresh(endpointID);
      },
    });
    this.turn = new ProjectWriteLimiter({ enqueue, busy: () => this.operations.busy });
  }

  /** For the requests of a pass. */
  get client(): ServiceClient {
    return this.#options.passes ?? this.#options.client;
  }

  get listing(): Listing | undefined {
    return this.#listing;
  }

  /** Why the latest lists failed. One failure after a good list means nothing yet: the next is tried soon. */
  get failure(): Failure | undefined {
    return this.#listing !== undefined && this.#demand.failures < 2 ? undefined : this.#failure;
  }

  /** Why nothing is seen of the project any more; `undefined`: what the newest list shows still counts. */
  get unseen(): Failure | undefined {
    if (!this.#isUnseen) return undefined;
    return this.#failure ?? { kind: "unavailable", message: unseen };
  }

  /** What a reconcile of this Compute may send; the Compute is enqueued when its turn comes. */
  reservation(uid: string): RequestReservation {
    return this.client.reservation(uid, () => this.enqueue(uid));
  }

  /** Has a Compute looked at again. */
  enqueue(uid: string): void {
    this.#options.enqueue([uid]);
  }

  /** A Compute uses this project, and is linked to this endpoint. */
  use(uid: string, endpointID: string | undefined): void {
    this.#users.set(uid, endpointID);
    if (this.#timer === undefined && !this.#inLine) this.#schedule();
    if (this.#lossTimer === undefined) this.#watchForLoss();
  }

  /** The refresh interval may have changed: the next list is due by the new one. */
  repace(): void {
    this.#schedule();
    this.#watchForLoss();
  }

  leave(uid: string): void {
    this.#users.delete(uid);
    this.#waiting.delete(uid);
    this.turn.leave(uid);
    this.client.leave(uid);
    if (this.#users.size > 0) return;
    this.#schedule();
    this.#watchForLoss();
    this.#options.onUnused?.();
  }

  /**
   * Answers with a list whose request began after `after`, or has one made and wakes the Compute when it is there;
   * `priority` is what it is for. While lists fail, none is answered: what to do next is decided on what the next one
   * shows.
   */
  listedAfter(after: number, uid: string, priority: Priority = "follow"): Listing | undefined {
    const counts = this.failure === undefined && !this.#isUnseen;
    if (counts && this.#listing !== undefined && this.#listing.startedAt > after) return this.#listing;
    this.#waiting.add(uid);
    if (this.#demand.want(after, priority)) this.#schedule();
    return undefined;
  }

  /** A write to this endpoint has ended, now: no list that was begun before counts for it any more. */
  wrote(endpointID: string): number {
    const now = this.#options.clock.monotonic();
    this.#written.set(endpointID, now);
    return now;
  }

  /** When the last write to an endpoint ended that lists must be newer than. */
  writtenAt(endpointID: string | undefined): number {
    return this.#written.get(endpointID ?? "") ?? Number.NEGATIVE_INFINITY;
  }

  stop(): void {
    this.#timer?.();
    this.#lossTimer?.();
    this.#leaveBudget();
    this.operations.stop();
  }

  /**
   * What was begun with an endpoint is over: whoever is linked to it is woken with a list that shows what came of it.
   */
  #showAfresh(endpointID: string): void {
    const now = this.#options.clock.monotonic();
    for (const uid of this.#usersOf(endpointID)) this.listedAfter(now, uid);
  }

  #schedule(): void {
    this.#timer?.();
    this.#timer = undefined;
    if (!this.#mayList) {
      this.#leaveBudget();
      return;
    }
    const { clock, refreshIntervalMs } = this.#options;
    const nextAt = this.#demand.nextAt(refreshIntervalMs(), this.#lostAt);
    this.#timer = clock.after(Math.max(0, nextAt - clock.monotonic()), () => this.#due());
  }

  get #mayList(): boolean {
    return !this.#inFlight && !this.#options.signal.aborted && this.#users.size > 0;
  }

  #leaveBudget(): void {
    this.#inLine = false;
    this.#options.client.leave(this);
    this.#options.refreshes?.leave(this);
  }

  /** A list is due: it begins as soon as the request budget has room, for its age counts from its request. */
  #due(): void {
    this.#timer?.();
    this.#timer = undefined;
    if (!this.#mayList) {
      this.#leaveBudget();
      return;
    }
    const { client, refreshes } = this.#options;
    const reservation = client.reservation(this, () => this.#called());
    if (reservation.tryTake(this.#demand.priority)) {
      this.#inLine = false;
      refreshes?.begun(this);
      void this.#list(client.within(reservation));
      return;
    }
    this.#inLine = true;
    refreshes?.due(this);
  }

  /** It is our turn, or the service asked for a pause: then the Computes that wait for this list say so. */
  #called(): void {
    this.#due();
    if (this.client.closedForMs > longPauseMs) this.#options.enqueue(this.#waiting);
  }

  get #lostAt(): number {
    const { refreshes, refreshIntervalMs } = this.#options;
    return this.#lastSeen.lostAt(refreshes?.inForceMs ?? refreshIntervalMs());
  }

  get #isUnseen(): boolean {
    return this.#options.clock.monotonic() >= this.#lostAt;
  }

  /** Has all Computes say that they are not seen, once that is so. */
  #watchForLoss(): void {
    this.#lossTimer?.();
    this.#lossTimer = undefined;
    const { clock, signal, enqueue } = this.#options;
    if (this.#lossTold || signal.aborted || this.#users.size === 0) return;
    this.#lossTimer = clock.after(Math.max(0, this.#lostAt - clock.monotonic()), () => {
      if (!this.#isUnseen) return this.#watchForLoss();
      this.#lossTold = true;
      enqueue(this.#everyone());
    });
  }

  async #list(client: ServiceClient): Promise<void> {
    const { projectID, clock, signal, enqueue } = this.#options;
    const startedAt = clock.monotonic();
    this.#inFlight = true;
    this.#demand.begin(startedAt);
    try {
      const answer = await client.listEndpoints(projectID, signal);
      this.#demand.ended(answer.kind === "ok");
      if (answer.kind === "ok") {
        const before = this.#listing;
        const wasLost = this.#lossTold;
        this.#failure = undefined;
        this.#lossTold = false;
        this.#lastSeen.listed(clock.monotonic());
        this.#listing = { endpoints: answer.value, startedAt, endedAt: clock.monotonic() };
        for (const [id, at] of this.#written) if (at < startedAt) this.#written.delete(id);
        this.#options.onListed?.(projectID, this.#listing);
        enqueue(wasLost ? this.#everyone() : this.#concerned(before?.endpoints, answer.value));
      } else {
        this.#failure = { ...answer, message: steadyMessage(this.#failure?.message, answer.message) };
        this.#lastSeen.failed(answer, clock.monotonic());
        enqueue(this.#takeWaiting());
      }
    } catch {
      // Called off: the process is stopping.
    } finally {
      this.#inFlight = false;
      this.#schedule();
      this.#watchForLoss();
    }
  }

  #concerned(before: readonly Endpoint[] | undefined, after: readonly Endpoint[]): Set<string> {
    if (before === undefined) return this.#everyone();
    const changes = changesBetween(before, after);
    if (changes.kind === "structure") return this.#everyone();
    const concerned = this.#takeWaiting();
    for (const id of changes.ids) for (const uid of this.#usersOf(id)) concerned.add(uid);
    return concerned;
  }

  #everyone(): Set<string> {
    this.#takeWaiting();
    return new Set(this.#users.keys());
  }

  #takeWaiting(): Set<string> {
    const waiting = new Set(this.#waiting);
    this.#waiting.clear();
    this.#demand.met();
    return waiting;
  }

  #usersOf(endpointID: string): string[] {
    return [...this.#users].filter(([, linked]) => linked === endpointID).map(([uid]) => uid);
  }
}
