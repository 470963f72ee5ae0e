import type { Cancel } from "../runtime/clock.ts";
import type { RequestBudget } from "../service-client/budget.ts";
import { longPauseMs } from "../service-client/request-reservation.ts";

/** Whether the service asked for a long pause: nothing is sent with the key until it is over. */
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

  #changed(): void {
    const { closedForMs } = this.#budget;
    // The last seconds of a long pause belong to it.
    const isOn = closedForMs > 0 && (this.#isOn || closedForMs > longPauseMs);
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    this.#onChange();
  }
}
