import type { Cancel } from "../runtime/clock.ts";
import type { RequestBudget } from "../service-client/budget.ts";
import { longPauseMs } from "../service-client/request-reservation.ts";

/**
 * Whether the service asked for a long pause: nothing is sent with the key until it is over. It lasts until a request
 * after it is answered without another pause: a service that asks for one pause after another is not reported as usable
 * in between.
 */
export class Pause {
  readonly #budget: RequestBudget;
  readonly #onChange: () => void;
  /** Stops listening to the budget. */
  readonly stop: Cancel;
  #isOn = false;

  /** `onChange`: a long pause begins or ends. */
  constructor(budget: RequestBudget, onChange: () => void) {
    this.#budget = budget;
    this.#onChange = onChange;
    this.stop = budget.onPause(() => this.#changed());
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** A request ended otherwise than with another pause. */
  answered(): void {
    if (this.#budget.closedForMs === 0) this.#set(false);
  }

  #changed(): void {
    if (this.#budget.closedForMs > longPauseMs) this.#set(true);
  }

  #set(isOn: boolean): void {
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    this.#onChange();
  }
}
