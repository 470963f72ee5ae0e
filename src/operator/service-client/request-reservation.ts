import type { RequestBudget } from "./budget.ts";
import type { Priority } from "./priority-queue.ts";

/**
 * What one caller may send. Its first request is taken from the budget before anything is begun that needs it, so that
 * a reconcile which finds the budget spent gives its worker back and is enqueued when it is its turn.
 */
export class RequestReservation {
  readonly #budget: RequestBudget;
  readonly #who: unknown;
  readonly #ready: () => void;
  #begun = false;
  #taken = false;
  #waits = false;

  /** `ready` is called when it is the turn of `who`, which could not send before. */
  constructor(budget: RequestBudget, who: unknown, ready: () => void) {
    this.#budget = budget;
    this.#who = who;
    this.#ready = ready;
  }

  /** Takes the first request, or has the caller called for it. Who has begun may go on. */
  tryTake(priority: Priority): boolean {
    if (this.#begun) return true;
    this.#begun = this.#taken = this.#budget.tryTake(priority, this.#who, this.#ready);
    this.#waits = !this.#begun;
    return this.#begun;
  }

  /** Whether the caller is on the budget's list. */
  get waits(): boolean {
    return this.#waits;
  }

  /** About how long the caller still waits, in milliseconds. */
  get waitMs(): number {
    return this.#budget.waitOf(this.#who);
  }

  /** How long nothing may be sent at all, since the service asked for it, in milliseconds. */
  get closedForMs(): number {
    return this.#budget.closedForMs;
  }

  /** As of the budget. Further requests come first: their caller holds a worker. */
  take(signal: AbortSignal, patienceMs: number): Promise<number | undefined> {
    if (this.#taken && this.#budget.closedForMs === 0) {
      this.#taken = false;
      return Promise.resolve(undefined);
    }
    return this.#budget.take("write", signal, patienceMs);
  }

  /** The caller is done for now; unless it waits, nothing is kept for it. */
  end(): void {
    if (!this.#waits) this.#budget.leave(this.#who);
  }
}
