import type { Endpoint } from "../../api/endpoint.ts";
import type { Operation } from "../../api/operation.ts";
import type { Failure } from "../client/answer.ts";
import type { ServiceClient } from "../client/client.ts";
import type { Fare } from "../client/fare.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
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

  constructor(options: ProjectWatcherOptions) {
    this.#options = options;
    const { client, projectID, clock, signal, wake } = options;
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

  /**
   * Why there is no list to go by. One failed list after a good one is not yet worth a word: the next is tried soon,
   * and a condition that flaps tells nobody anything. A refused key is.
   */
  get failure(): Failure | undefined {
    if (this.#failure === undefined) return undefined;
    const passing = this.#listing !== undefined && this.#failures < 2 && this.#failure.kind !== "unauthorized";
    return passing ? undefined : this.#failure;
  }

  /** What a pass over this Compute may send; it is woken when its turn comes. */
  fare(uid: string): Fare {
    return this.client.fare(uid, () => this.#options.wake([uid]));
  }

  /** A Compute uses this project, and is linked to this endpoint. */
  use(uid: string, endpointID: string | undefined): void {
    this.#users.set(uid, endpointID);
    if (this.#timer === undefined) this.#schedule();
  }

  /** The refresh interval may have changed: the next list is due by the new one. */
  repace(): void {
    this.#schedule();
  }

  leave(uid: string): void {
    this.#users.delete(uid);
    this.#waiting.delete(uid);
    this.turn.leave(uid);
    this.client.leave(uid);
    if (this.#users.size > 0) return;
    this.#schedule();
    this.#options.onUnused?.();
  }

  /** Answers with a list whose request began after `after`, or has one made and wakes the Compute when it is there. */
  listedAfter(after: number, uid: string): Listing | undefined {
    if (this.#listing !== undefined && this.#listing.startedAt > after) return this.#listing;
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
      const failedBefore = this.failure;
      if (answer.kind === "ok") {
        const before = this.#listing;
        this.#failure = undefined;
        this.#failures = 0;
        this.#listing = { endpoints: answer.value, startedAt, endedAt: clock.monotonic() };
        for (const [id, at] of this.#written) if (at < startedAt) this.#written.delete(id);
        this.#options.onListed?.(projectID, this.#listing);
        wake(failedBefore === undefined ? this.#concerned(before?.endpoints, answer.value) : this.#everyone());
      } else {
        this.#failure = answer;
        this.#failures += 1;
        wake(this.failure?.kind === failedBefore?.kind ? this.#takeWaiting() : this.#everyone());
      }
    } catch {
      // Called off: the process is stopping.
    } finally {
      this.#inFlight = false;
      this.#schedule();
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
