import type { Endpoint } from "../../api/endpoint.ts";
import type { Operation } from "../../api/operation.ts";
import type { Failure } from "../client/answer.ts";
import type { ServiceClient } from "../client/client.ts";
import type { Fare } from "../client/fare.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import { LastSeen } from "./last-seen.ts";
import { changesBetween } from "./list-changes.ts";
import { ListPace } from "./list-pace.ts";
import { Operations } from "./operations.ts";
import { WriteTurn } from "./write-turn.ts";

/** One complete list of a project's endpoints. Times on the monotonic clock, in milliseconds. */
export interface Listing {
  endpoints: readonly Endpoint[];
  /** When its request was begun: it shows every write that had ended by then. */
  startedAt: number;
  endedAt: number;
}

export interface ProjectWatcherOptions {
  /** For lists and polls, which no pass waits for. */
  client: ServiceClient;
  /** For passes; left out: the same. */
  passes?: ServiceClient;
  projectID: string;
  clock: Clock;
  refreshIntervalMs: () => number;
  /** Has these Computes looked at again. */
  wake: (uids: Iterable<string>) => void;
  signal: AbortSignal;
  onListed?: ((projectID: string, listing: Listing) => void) | undefined;
  onOperationEnded?: ((operation: Operation) => void) | undefined;
  /** The last Compute has left. */
  onUnused?: () => void;
}

/** After a failed list the next is tried so many milliseconds later, doubling up to refresh interval or a minute. */
const retryFirstMs = 1000;
const retryMostMs = 60_000;

/** One endpoint list per project, shared by all its Computes: refreshed in time, and sooner when somebody needs it. */
export class ProjectWatcher {
  readonly #options: ProjectWatcherOptions;
  readonly operations: Operations;
  readonly turn: WriteTurn;
  /** Which endpoint each Compute that uses this project is linked to. */
  readonly #users = new Map<string, string | undefined>();
  readonly #waiting = new Set<string>();
  /** When a write to each endpoint last ended, as long as no list was begun since. */
  readonly #written = new Map<string, number>();
  #listing: Listing | undefined;
  #failure: Failure | undefined;
  #failures = 0;
  #inFlight = false;
  #lastStartedAt = Number.NEGATIVE_INFINITY;
  readonly #pace = new ListPace();
  #wantedAfter = Number.NEGATIVE_INFINITY;
  #timer: Cancel | undefined;
  readonly #lastSeen: LastSeen;
  #lossTimer: Cancel | undefined;
  /** Whether the Computes were enqueued because the project is not seen any more. */
  #lossTold = false;

  constructor(options: ProjectWatcherOptions) {
    this.#options = options;
    const { client, projectID, clock, signal, wake } = options;
    this.#lastSeen = new LastSeen(clock.monotonic());
    this.operations = new Operations({
      client,
      projectID,
      clock,
      signal,
      onEnded: options.onOperationEnded,
      onChange: (endpointID) => {
        if (endpointID === undefined) this.turn.offer();
        else if (this.operations.isBusyWith(endpointID)) wake(this.#usersOf(endpointID));
        else this.#showAfresh(endpointID);
      },
    });
    this.turn = new WriteTurn({ wake, busy: () => this.operations.busy });
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
    return this.#listing !== undefined && this.#failures < 2 ? undefined : this.#failure;
  }

  /** Why nothing is seen of the project any more; `undefined`: what the newest list shows still counts. */
  get unseen(): Failure | undefined {
    if (!this.#isUnseen) return undefined;
    const message = "no list of the project's endpoints has come for three refresh intervals";
    return this.#failure ?? { kind: "unavailable", message };
  }

  /** What a pass over this Compute may send; it is woken when its turn comes. */
  fare(uid: string): Fare {
    return this.client.fare(uid, () => this.#options.wake([uid]));
  }

  /** A Compute uses this project, and is linked to this endpoint. */
  use(uid: string, endpointID: string | undefined): void {
    this.#users.set(uid, endpointID);
    if (this.#timer === undefined) this.#schedule();
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
   * Answers with a list whose request began after `after`, or has one made and wakes the Compute when it is there.
   * While lists fail, none is answered: what to do next is decided on what the next one shows.
   */
  listedAfter(after: number, uid: string): Listing | undefined {
    const counts = this.failure === undefined && !this.#isUnseen;
    if (counts && this.#listing !== undefined && this.#listing.startedAt > after) return this.#listing;
    this.#waiting.add(uid);
    if (after > this.#wantedAfter) {
      this.#wantedAfter = after;
      this.#schedule();
    }
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
    if (this.#inFlight || this.#options.signal.aborted || this.#users.size === 0) return;
    const delay = Math.max(0, this.#nextAt() - this.#options.clock.monotonic());
    this.#timer = this.#options.clock.after(delay, () => void this.#list());
  }

  get #lostAt(): number {
    return this.#lastSeen.lostAt(this.#options.refreshIntervalMs());
  }

  get #isUnseen(): boolean {
    return this.#options.clock.monotonic() >= this.#lostAt;
  }

  /** Has all Computes say that they are not seen, once that is so. */
  #watchForLoss(): void {
    this.#lossTimer?.();
    this.#lossTimer = undefined;
    const { clock, signal, wake } = this.#options;
    if (this.#lossTold || signal.aborted || this.#users.size === 0) return;
    this.#lossTimer = clock.after(Math.max(0, this.#lostAt - clock.monotonic()), () => {
      if (!this.#isUnseen) return this.#watchForLoss();
      this.#lossTold = true;
      wake(this.#everyone());
    });
  }

  /** When the next list is to begin, on the monotonic clock. */
  #nextAt(): number {
    const refresh = this.#options.refreshIntervalMs();
    if (this.#failures > 0) {
      return this.#lastStartedAt + Math.min(refresh, retryMostMs, retryFirstMs * 2 ** (this.#failures - 1));
    }
    const inTime = this.#lastStartedAt + refresh;
    if (this.#wantedAfter < this.#lastStartedAt) return inTime;
    return Math.min(inTime, Math.max(this.#wantedAfter + 1, this.#pace.earliest));
  }

  async #list(): Promise<void> {
    const { client, projectID, clock, signal, wake } = this.#options;
    const startedAt = clock.monotonic();
    this.#inFlight = true;
    this.#lastStartedAt = startedAt;
    this.#pace.begin(startedAt);
    try {
      const answer = await client.listEndpoints(projectID, signal);
      if (answer.kind === "ok") {
        const before = this.#listing;
        const wasLost = this.#lossTold;
        this.#failure = undefined;
        this.#failures = 0;
        this.#lossTold = false;
        this.#lastSeen.listed(clock.monotonic());
        this.#listing = { endpoints: answer.value, startedAt, endedAt: clock.monotonic() };
        for (const [id, at] of this.#written) if (at < startedAt) this.#written.delete(id);
        this.#options.onListed?.(projectID, this.#listing);
        wake(wasLost ? this.#everyone() : this.#concerned(before?.endpoints, answer.value));
      } else {
        this.#failure = answer;
        this.#failures += 1;
        this.#lastSeen.failed(answer, clock.monotonic());
        wake(this.#takeWaiting());
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
    this.#waiting.clear();
    return new Set(this.#users.keys());
  }

  #takeWaiting(): Set<string> {
    const waiting = new Set(this.#waiting);
    this.#waiting.clear();
    return waiting;
  }

  #usersOf(endpointID: string): string[] {
    return [...this.#users].filter(([, linked]) => linked === endpointID).map(([uid]) => uid);
  }
}
