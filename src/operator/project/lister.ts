import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { unattended } from "../runtime/unattended.ts";
import { type Answer, type Failure, steadyMessage } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority.ts";
import { longPauseMs } from "../service-client/request-reservation.ts";
import { ListTiming } from "./list-timing.ts";
import type { RefreshInterval } from "./refresh-interval.ts";

/** One complete list. `startedAt`: when its request began, on the monotonic clock: it shows what had ended by then. */
export interface Listed {
  readonly startedAt: number;
}

/** The lists before one that came in. */
export interface ListsBefore<T> {
  latest: T | undefined;
  /** The list before it failed. */
  hasFailed: boolean;
}

export interface ListerOptions<T extends Listed> {
  client: ServiceClient;
  clock: Clock;
  signal: AbortSignal;
  log: Logger;
  refreshIntervalMs: () => number;
  /** Learns how late lists are, and knows the interval in force; absent: these lists do not count for it. */
  refreshes?: Pick<RefreshInterval, "due" | "begun" | "leave" | "inForceMs"> | undefined;
  /** The tenant whose turn in the request budget lists take. */
  tenant: () => string;
  /** One list, with a client that has its place in the request budget. */
  list: (client: ServiceClient, startedAt: number) => Promise<Answer<T>>;
  /** Takes a list in; returns the users that it affects besides those that wait. */
  onListed: (list: T, before: ListsBefore<T>) => Iterable<string>;
  /** True while there are users. */
  isUsed: () => boolean;
  users: () => Iterable<string>;
  enqueue: (uids: Iterable<string>) => void;
  /** The service's text once the latest list is too old to count; absent: it counts until newer ones fail. */
  unseen?: string;
}

const defect = "the operator could not take in its answer; see the log of the operator";

/**
 * The lists of one thing in a project, shared by all its users (by uid).
 *
 * Expected flow: a user calls `start`, then `after` with the time that the list must be newer than; where that returns
 * none, `wait` and `want`: the user is enqueued with such a list, or with its failure. Without demand a list is made
 * once per refresh interval while there are users.
 * Guarantees: at most one list is in flight. A list begins as soon as the request budget has room for it, and its age
 * counts from there. The first list, and the first after a loss, enqueue all users. A single failure after a good list
 * does not count: the next list follows soon. A defect of the operator counts as a failure, and is logged.
 */
export class Lister<T extends Listed> {
  readonly #options: ListerOptions<T>;
  readonly #timing: ListTiming;
  readonly #waiting = new Set<string>();
  #latest: T | undefined;
  #failure: Failure | undefined;
  #inFlight = false;
  /** A list is due and waits for the request budget. */
  #waitsForBudget = false;
  #timer: Cancel | undefined;
  #lossTimer: Cancel | undefined;
  #isLossReported = false;

  constructor(options: ListerOptions<T>) {
    this.#options = options;
    this.#timing = new ListTiming(options.clock.monotonic());
  }

  /** The latest list, whether newer ones have failed or not. */
  get latest(): T | undefined {
    return this.#latest;
  }

  /** The latest list if it began after `after`; none while lists fail. */
  after(after: number): T | undefined {
    const { failure } = this;
    return failure === undefined && this.#latest !== undefined && this.#latest.startedAt > after
      ? this.#latest
      : undefined;
  }

  /** Failure of the latest lists. */
  get failure(): Failure | undefined {
    return this.#latest !== undefined && !this.#timing.isFailing ? undefined : this.#failure;
  }

  /** Reason why the latest list does not count any more, or none has come for so long; `undefined` while it counts. */
  get unseen(): Failure | undefined {
    const { unseen, clock } = this.#options;
    if (unseen === undefined || clock.monotonic() < this.#lostAt) return undefined;
    return this.#failure ?? { kind: "unavailable", message: unseen };
  }

  /** The most urgent priority that a user waits with. */
  get need(): Priority {
    return this.#timing.need;
  }

  /** The user is enqueued with the next list, or with its failure. */
  wait(uid: string): void {
    this.#waiting.add(uid);
  }

  /** The user is enqueued with a list that begins after `after`, or with its failure. */
  ask(uid: string, after: number, priority: Priority): void {
    this.wait(uid);
    this.want(after, priority);
  }

  waits(uid: string): boolean {
    return this.#waiting.has(uid);
  }

  /** A list that begins after `after` is wanted. */
  want(after: number, priority: Priority): void {
    if (this.#timing.want(after, priority)) this.#plan();
  }

  /** There is a user: plans a list unless one is planned. */
  start(): void {
    if (this.#timer === undefined && !this.#waitsForBudget) this.#plan();
    if (this.#lossTimer === undefined) this.#planLoss();
  }

  leave(uid: string): void {
    this.#waiting.delete(uid);
    if (!this.#options.isUsed()) this.reschedule();
  }

  /** The refresh interval, or whether there are users, may have changed. */
  reschedule(): void {
    this.#plan();
    this.#planLoss();
  }

  stop(): void {
    this.#timer?.();
    this.#lossTimer?.();
    this.#leaveBudget();
  }

  get #lostAt(): number {
    const { refreshes, refreshIntervalMs, unseen } = this.#options;
    if (unseen === undefined) return Number.POSITIVE_INFINITY;
    return this.#timing.lostAt(refreshes?.inForceMs ?? refreshIntervalMs());
  }

  get #mayList(): boolean {
    return !this.#inFlight && !this.#options.signal.aborted && this.#options.isUsed();
  }

  /** Sets the timer of the next list, again after whatever it depends on has changed. */
  #plan(): void {
    this.#cancelTimer();
    if (!this.#mayList) {
      this.#leaveBudget();
      return;
    }
    const { clock, refreshIntervalMs } = this.#options;
    const nextAt = this.#timing.nextAt(refreshIntervalMs(), this.#lostAt);
    this.#timer = clock.after(Math.max(0, nextAt - clock.monotonic()), () => this.#due());
  }

  /** Sets the timer for the time at which the latest list stops counting. */
  #planLoss(): void {
    this.#lossTimer?.();
    this.#lossTimer = undefined;
    const { clock, signal, isUsed, unseen } = this.#options;
    if (unseen === undefined || this.#isLossReported || signal.aborted || !isUsed()) return;
    this.#lossTimer = clock.after(Math.max(0, this.#lostAt - clock.monotonic()), () => {
      if (this.unseen === undefined) return this.#planLoss();
      this.#isLossReported = true;
      this.#enqueueAll();
    });
  }

  #due(): void {
    this.#cancelTimer();
    if (!this.#mayList) {
      this.#leaveBudget();
      return;
    }
    const { client, refreshes, tenant } = this.#options;
    const reservation = client.reservation(this, () => this.#called(), tenant());
    if (reservation.tryTake(this.#timing.priority)) {
      this.#waitsForBudget = false;
      refreshes?.begun(this);
      void unattended(this.#list(client.within(reservation)), this.#options, "A list ended by a defect: continuing");
      return;
    }
    this.#waitsForBudget = true;
    refreshes?.due(this);
  }

  async #list(client: ServiceClient): Promise<void> {
    const { clock, signal, list } = this.#options;
    const startedAt = clock.monotonic();
    this.#inFlight = true;
    this.#timing.begun(startedAt);
    try {
      const answer = await list(client, startedAt);
      if (answer.kind === "ok") this.#listed(answer.value);
      else {
        this.#failed(answer);
        this.#enqueue(this.#takeWaiting());
      }
    } catch (error) {
      if (!signal.aborted) {
        this.#failed({ kind: "unavailable", message: defect });
        this.#enqueueAll();
      }
      throw error;
    } finally {
      this.#inFlight = false;
      this.reschedule();
    }
  }

  #listed(list: T): void {
    const { clock, onListed, users } = this.#options;
    const before = { latest: this.#latest, hasFailed: this.#failure !== undefined };
    const concernsAll = this.#isLossReported || before.latest === undefined;
    this.#latest = list;
    // Before the list is taken in, which may show that a further one is wanted.
    const waiting = this.#takeWaiting();
    const affected = onListed(list, before);
    this.#failure = undefined;
    this.#isLossReported = false;
    this.#timing.succeeded(clock.monotonic());
    this.#enqueue(concernsAll ? users() : affected, waiting);
  }

  #failed(failure: Failure): void {
    this.#failure = { ...failure, message: steadyMessage(this.#failure?.message, failure.message) };
    this.#timing.failed(failure, this.#options.clock.monotonic());
  }

  /** The request budget called, whether with room or because of a pause; in a long one, those who wait say so. */
  #called(): void {
    this.#due();
    const { client, enqueue } = this.#options;
    if (client.closedForMs > longPauseMs) enqueue(this.#waiting);
  }

  #enqueueAll(): void {
    this.#enqueue(this.#options.users(), this.#takeWaiting());
  }

  #enqueue(...uids: Iterable<string>[]): void {
    this.#options.enqueue(new Set(uids.flatMap((some) => [...some])));
  }

  /** The users that wait; none waits any more. */
  #takeWaiting(): string[] {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#timing.met();
    return waiting;
  }

  #cancelTimer(): void {
    this.#timer?.();
    this.#timer = undefined;
  }

  #leaveBudget(): void {
    this.#waitsForBudget = false;
    this.#options.client.leave(this);
    this.#options.refreshes?.leave(this);
  }
}
