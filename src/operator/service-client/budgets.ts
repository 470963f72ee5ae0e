import type { Clock } from "../runtime/clock.ts";
import { type BudgetLimits, RequestBudget } from "./budget.ts";

interface Shared {
  budget: RequestBudget;
  /** What each connection that draws from it allows, by uid. */
  users: Map<string, BudgetLimits>;
}

/**
 * The budgets of one process, one for each base URL and key. They outlast sessions and terms of leadership: the service
 * goes on counting, and a pause that it asked for stays asked for.
 */
export class Budgets {
  readonly #clock: Clock;
  readonly #onTaken: (waitedSeconds: number) => void;
  readonly #shared = new Map<string, Shared>();

  /** `onTaken` is told how many seconds each request waited. */
  constructor(clock: Clock, onTaken: (waitedSeconds: number) => void = () => {}) {
    this.#clock = clock;
    this.#onTaken = onTaken;
  }

  /** A connection draws from the budget of `through` (base URL and key); the lowest figures of all that do win. */
  join(through: string, connectionUID: string, limits: BudgetLimits): RequestBudget {
    this.#forgetRested();
    let shared = this.#shared.get(through);
    if (shared === undefined) {
      shared = { budget: new RequestBudget(this.#clock, limits, this.#onTaken), users: new Map() };
      this.#shared.set(through, shared);
    }
    shared.users.set(connectionUID, limits);
    apply(shared);
    return shared.budget;
  }

  quit(through: string, connectionUID: string): void {
    const shared = this.#shared.get(through);
    if (shared?.users.delete(connectionUID) === true && shared.users.size > 0) apply(shared);
  }

  /** A term has ended: nobody of it waits any more, and no timer keeps the process for them. */
  dismiss(): void {
    for (const { budget } of this.#shared.values()) budget.dismiss();
  }

  /** One that nobody draws from and that a new one would equal. */
  #forgetRested(): void {
    for (const [through, { budget, users }] of this.#shared) {
      if (users.size === 0 && budget.rested) this.#shared.delete(through);
    }
  }
}

function apply({ budget, users }: Shared): void {
  const all = [...users.values()];
  budget.setLimits({
    perMinute: Math.min(...all.map(({ perMinute }) => perMinute)),
    burst: Math.min(...all.map(({ burst }) => burst)),
  });
}
