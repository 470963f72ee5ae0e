import type { RequestBudget } from "../service-client/budget.ts";

/** A refresh that comes late by more than this part of its interval is stretched, and no longer below the other. */
const stretchedFrom = 0.5;
const keptBelow = 0.1;

/**
 * How far apart the lists of one project are, for all projects of a session. Refreshes take what writes and reconciles
 * leave of the request budget, first come, first served: each then comes as late as the others. A pause that the
 * service asks for stretches no interval: the budget's clock stands still meanwhile.
 */
export class RefreshInterval {
  readonly #intervalMs: () => number;
  readonly #budget: Pick<RequestBudget, "openMs">;
  readonly #onChange: () => void;
  /** Whose list is due and waits, and since when; the first has waited longest. */
  readonly #due = new Map<object, number>();
  #lastWaitMs = 0;
  #stretched = false;

  /** `intervalMs`: the interval asked for. `onChange`: lists are stretched now, or no longer. */
  constructor(intervalMs: () => number, budget: Pick<RequestBudget, "openMs">, onChange: () => void) {
    this.#intervalMs = intervalMs;
    this.#budget = budget;
    this.#onChange = onChange;
  }

  /** In force now, in milliseconds. */
  get inForceMs(): number {
    return this.#intervalMs() + this.#waitMs;
  }

  /** Whether refreshes cannot keep the interval asked for. */
  get isStretched(): boolean {
    return this.#stretched;
  }

  /** The list of `who` is due, and waits for the request budget. */
  due(who: object): void {
    if (!this.#due.has(who)) this.#due.set(who, this.#budget.openMs);
    this.#judge();
  }

  /** The list of `who` begins. */
  begun(who: object): void {
    const since = this.#due.get(who);
    this.#due.delete(who);
    this.#lastWaitMs = since === undefined ? 0 : this.#budget.openMs - since;
    this.#judge();
  }

  leave(who: object): void {
    this.#due.delete(who);
  }

  /** No project is listed any more: nothing is late. */
  reset(): void {
    this.#due.clear();
    this.#lastWaitMs = 0;
    this.#judge();
  }

  get #waitMs(): number {
    for (const since of this.#due.values()) return Math.max(this.#lastWaitMs, this.#budget.openMs - since);
    return this.#lastWaitMs;
  }

  #judge(): void {
    const late = this.#waitMs / this.#intervalMs();
    const stretched = this.#stretched ? late >= keptBelow : late > stretchedFrom;
    if (stretched === this.#stretched) return;
    this.#stretched = stretched;
    this.#onChange();
  }
}
