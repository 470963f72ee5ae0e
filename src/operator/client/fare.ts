import type { RequestBudget } from "./budget.ts";

/**
 * What one pass over an object may send. Its first request is paid for before the pass begins anything that needs it,
 * so that a pass which finds the budget spent gives its worker back and comes again when it is its turn. Times in
 * milliseconds.
 */
export class Fare {
  readonly #budget: RequestBudget;
  readonly #who: string;
  readonly #ready: () => void;
  #admitted = false;
  #paid = false;

  /** `ready` is called when it is the turn of `who`, who could not send before. */
  constructor(budget: RequestBudget, who: string, ready: () => void) {
    this.#budget = budget;
    this.#who = who;
    this.#ready = ready;
  }

  /** Whether the pass may begin what needs a request; else a place in the line is kept. Once let in it may go on. */
  get affordable(): boolean {
    if (!this.#admitted) this.#admitted = this.#paid = this.#budget.reserve(this.#who, this.#ready);
    return this.#admitted;
  }

  /** About how long it will be until it is. */
  get waitMs(): number {
    return this.#budget.waitOf(this.#who);
  }

  /** How long nothing may be sent at all, since the service asked for it. */
  get closedForMs(): number {
    return this.#budget.closedForMs;
  }

  /** As of the budget. What is not paid for comes before all who hold no worker. */
  take(signal: AbortSignal, patienceMs: number): Promise<number | undefined> {
    if (this.#paid && this.#budget.closedForMs === 0) {
      this.#paid = false;
      return Promise.resolve(undefined);
    }
    this.end();
    return this.#budget.takeNext(signal, patienceMs);
  }

  /** The pass is over: what it did not spend goes to others. */
  end(): void {
    if (this.#paid) this.#budget.giveBack();
    this.#paid = false;
  }
}
