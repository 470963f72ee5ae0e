import type { RequestBudget } from "./budget.ts";
import type { Priority } from "./priority-queue.ts";

/**
 * The requests of one caller. The first is taken from the budget before the caller starts work that needs it, so that a
 * reconcile which finds the budget empty releases its worker and is enqueued when it is its turn.
 */
export class RequestReservation {
  readonly #budget: RequestBudget;
  readonly #who: unknown;
  readonly #ready: () => void;
  readonly #tenant: string;
  #begun = false;
  #taken = false;
  #waits = false;

  /** `ready` is called when it is the turn of `who`, who could not send before. */
  constructor(budget: RequestBudget, who: unknown, ready: () => void, tenant = "") {
    this.#budget = budget;
    this.#who = who;
    this.#ready = ready;
    this.#tenant = tenant;
  }

  /** Takes the first request, or has the caller called for it. A caller that has started may continue. */
  tryTake(priority: Priority): boolean {
    if (this.#begun) return true;
    this.#begun = this.#taken = this.#budget.tryTake(priority, this.#who, this.#ready, this.#tenant);
    this.#waits = !this.#begun;
    return this.#begun;
  }

  /** Whether the caller waits for the budget. */
  get waits(): boolean {
    return this.#waits;
  }

  /** About how long the caller still waits, in milliseconds. */
  get waitMs(): number {
    return this.#budget.waitOf(this.#who);
  }

  /** How long nothing may be sent because the service asked for a pause, in milliseconds. */
  get closedForMs(): number {
    return this.#budget.closedForMs;
  }

  /** See the budget. Further requests go first, because their caller blocks a worker. */
  take(signal: AbortSignal, patienceMs: number): Promise<number | undefined> {
    if (this.#taken && this.#budget.closedForMs === 0) {
      this.#taken = false;
      return Promise.resolve(undefined);
    }
    return this.#budget.take("write", signal, patienceMs, this.#tenant);
  }

  /** The caller is finished for now; unless it waits, nothing is reserved for it. */
  end(): void {
    if (!this.#waits) this.#budget.leave(this.#who);
  }
}
