import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { unattended } from "../runtime/unattended.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority.ts";
import { ListDemand } from "./list-demand.ts";
import type { RefreshInterval } from "./refresh-interval.ts";

export interface ListScheduleOptions {
  client: ServiceClient;
  clock: Clock;
  signal: AbortSignal;
  log: Logger;
  refreshIntervalMs: () => number;
  refreshes: Pick<RefreshInterval, "due" | "begun" | "leave"> | undefined;
  /** Time from which the project counts as not seen any more. */
  lostAt: () => number;
  /** True if a Compute uses the project. */
  isUsed: () => boolean;
  /** The tenant whose turn in the request budget the list takes. */
  tenant: () => string;
  /** Lists now, with a client that has its place in the request budget, and takes the answer in. */
  list: (client: ServiceClient, startedAt: number) => Promise<void>;
  /** The list ended by a defect, which counts as its failure. */
  onDefect: (failure: Failure) => void;
  /** The request budget called, whether with room or because of a pause. */
  onCalled: () => void;
}

const defect = "the operator could not take in its answer; see the log of the operator";

/** Schedule of a project's lists, and their wait for the request budget. At most one list is in flight. */
export class ListSchedule {
  readonly #options: ListScheduleOptions;
  readonly demand = new ListDemand();
  #timer: Cancel | undefined;
  #inFlight = false;
  /** A list is due and waits for the request budget. */
  #waitsForBudget = false;

  constructor(options: ListScheduleOptions) {
    this.#options = options;
  }

  /** A list that begins after `after` is wanted. */
  want(after: number, priority: Priority): void {
    if (this.demand.want(after, priority)) this.plan();
  }

  /** The project is used: plans a list unless one is planned. */
  start(): void {
    if (this.#timer === undefined && !this.#waitsForBudget) this.plan();
  }

  /** Sets the timer of the next list, again after whatever it depends on has changed. */
  plan(): void {
    this.#cancelTimer();
    if (!this.#mayList) {
      this.#leaveBudget();
      return;
    }
    const { clock, refreshIntervalMs, lostAt } = this.#options;
    const nextAt = this.demand.nextAt(refreshIntervalMs(), lostAt());
    this.#timer = clock.after(Math.max(0, nextAt - clock.monotonic()), () => this.#due());
  }

  stop(): void {
    this.#timer?.();
    this.#leaveBudget();
  }

  get #mayList(): boolean {
    return !this.#inFlight && !this.#options.signal.aborted && this.#options.isUsed();
  }

  /** The list begins as soon as the request budget has room, because its age counts from its request. */
  #due(): void {
    this.#cancelTimer();
    if (!this.#mayList) {
      this.#leaveBudget();
      return;
    }
    const { client, refreshes, tenant } = this.#options;
    const reservation = client.reservation(this, () => this.#called(), tenant());
    if (reservation.tryTake(this.demand.priority)) {
      this.#waitsForBudget = false;
      refreshes?.begun(this);
      void unattended(this.#list(client.within(reservation)), this.#options, "A list ended by a defect: continuing");
      return;
    }
    this.#waitsForBudget = true;
    refreshes?.due(this);
  }

  async #list(client: ServiceClient): Promise<void> {
    const { clock, signal, list, onDefect } = this.#options;
    const startedAt = clock.monotonic();
    this.#inFlight = true;
    this.demand.begin(startedAt);
    try {
      await list(client, startedAt);
    } catch (error) {
      if (!signal.aborted) {
        this.demand.ended(false);
        onDefect({ kind: "unavailable", message: defect });
      }
      throw error;
    } finally {
      this.#inFlight = false;
      this.plan();
    }
  }

  #called(): void {
    this.#due();
    this.#options.onCalled();
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
