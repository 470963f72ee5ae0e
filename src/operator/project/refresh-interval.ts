import type { RequestBudget } from "../service-client/budget.ts";

/** The interval counts as stretched when lists are late by more than the first share, until below the second. */
const stretchedFrom = 0.5;
const keptBelow = 0.1;

/**
 * The refresh interval in force for all projects of a session. Refreshes get the rest of the request budget, in order
 * of arrival, so all are equally late. A pause that the service asks for stretches no interval: the budget's clock
 * stops.
 */
export class RefreshInterval {
  readonly #intervalMs: () => number;
  readonly #budget: Pick<RequestBudget, "openMs">;
  readonly #onChange: () => void;
  /** The listers that wait for the budget, and since when; the first has waited longest. */
  readonly #due = new Map<object, number>();
  #lastWaitMs = 0;
  #stretched = false;

  /** `intervalMs`: the interval of the spec. `onChange`: the interval becomes stretched, or no longer is. */
  constructor(intervalMs: () => number, budget: Pick<RequestBudget, "openMs">, onChange: () => void) {
    this.#intervalMs = intervalMs;
    this.#budget = budget;
    this.#onChange = onChange;
  }

  /** The interval in force, in milliseconds. */
  get inForceMs(): number {
    return this.#intervalMs() + this.#waitMs;
  }

  /** True if refreshes cannot keep the interval of the spec. */
  get isStretched(): boolean {
    return this.#stretched;
  }

  /** The list of this lister is due and waits for the request budget. */
  due(lister: object): void {
    if (!this.#due.has(lister)) this.#due.set(lister, this.#budget.openMs);
    this.#update();
  }

  /** The list of this lister begins. */
  begun(lister: object): void {
    const since = this.#due.get(lister);
    this.#due.delete(lister);
    this.#lastWaitMs = since === undefined ? 0 : this.#budget.openMs - since;
    this.#update();
  }

  leave(lister: object): void {
    this.#due.delete(lister);
  }

  /** No project is listed any more: nothing is late. */
  reset(): void {
    this.#due.clear();
    this.#lastWaitMs = 0;
    this.#update();
  }

  get #waitMs(): number {
    for (const since of this.#due.values()) return Math.max(this.#lastWaitMs, this.#budget.openMs - since);
    return this.#lastWaitMs;
  }

  #update(): void {
    const late = this.#waitMs / this.#intervalMs();
    const stretched = this.#stretched ? late >= keptBelow : late > stretchedFrom;
    if (stretched === this.#stretched) return;
    this.#stretched = stretched;
    this.#onChange();
  }
}
