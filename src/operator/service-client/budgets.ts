import type { Clock } from "../runtime/clock.ts";
import { type BudgetLimits, RequestBudget } from "./budget.ts";

interface Shared {
  budget: RequestBudget;
  /** The budget of each connection that draws from it, by uid. */
  users: Map<string, BudgetLimits>;
}

/**
 * The budgets of one process, one for each base URL and key. They outlive sessions and terms of leadership: the service
 * keeps counting, and a pause that it asked for stays in force.
 */
export class Budgets {
  readonly #clock: Clock;
  readonly #onTaken: (waitedSeconds: number) => void;
  readonly #shared = new Map<string, Shared>();

  /** `onTaken` is called with the seconds that each request waited. */
  constructor(clock: Clock, onTaken: (waitedSeconds: number) => void = () => {}) {
    this.#clock = clock;
    this.#onTaken = onTaken;
  }

  /**
   * A connection draws from the budget of `account` (base URL and key); the lowest figures of all its connections
   * apply.
   */
  join(account: string, connectionUID: string, limits: BudgetLimits): RequestBudget {
    this.#forgetRested();
    const known = this.#shared.get(account);
    const shared = known ?? { budget: new RequestBudget(this.#clock, limits, this.#onTaken), users: new Map() };
    this.#shared.set(account, shared);
    shared.users.set(connectionUID, limits);
    apply(shared);
    return shared.budget;
  }

  quit(account: string, connectionUID: string): void {
    const shared = this.#shared.get(account);
    if (shared?.users.delete(connectionUID) === true && shared.users.size > 0) apply(shared);
  }

  /** A term of leadership has ended: nobody waits any more, and no timer keeps the process alive. */
  dismiss(): void {
    for (const { budget } of this.#shared.values()) budget.dismiss();
  }

  /** A budget that nobody draws from and that equals a new one. */
  #forgetRested(): void {
    for (const [account, { budget, users }] of this.#shared) {
      if (users.size === 0 && budget.rested) this.#shared.delete(account);
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
