import type { Cancel } from "../runtime/clock.ts";
import type { RequestBudget } from "../service-client/budget.ts";

/** A pause that is longer, in milliseconds, is worth a word. */
export const longPauseMs = 5000;

/** Whether the service asked for a pause that is worth a word: nothing is sent with the key until it is over. */
export class Pause {
  readonly #budget: RequestBudget;
  readonly #onChange: () => void;
  /** Listens no more. */
  readonly stop: Cancel;
  #isOn = false;

  /** `onChange`: such a pause begins or is over. */
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
    // Its last seconds belong to it.
    const isOn = closedForMs > 0 && (this.#isOn || closedForMs > longPauseMs);
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    this.#onChange();
  }
}
