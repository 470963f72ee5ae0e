import type { Cancel, Clock } from "./clock.ts";

/**
 * Keys that fall due later, with one timer for all: a timer of its own costs some 400 bytes a key, an entry here 80.
 * Keys of the same time fall due in the order in which they were set.
 */
export class DueKeys {
  readonly #clock: Clock;
  readonly #fallDue: (key: string) => void;
  /** Monotonic times in milliseconds. */
  readonly #times = new Map<string, number>();
  /** The key that is next comes last. */
  readonly #order: string[] = [];
  #timer: { at: number; cancel: Cancel } | undefined;

  /** `fallDue` is called once for each key whose time has come; the key is no longer among these then. */
  constructor(clock: Clock, fallDue: (key: string) => void) {
    this.#clock = clock;
    this.#fallDue = fallDue;
  }

  timeOf(key: string): number | undefined {
    return this.#times.get(key);
  }

  /** Replaces the key's former time. */
  set(key: string, at: number): void {
    this.#remove(key);
    this.#order.splice(this.#placeOf(at), 0, key);
    this.#times.set(key, at);
    this.#plan();
  }

  delete(key: string): void {
    if (!this.#times.has(key)) return;
    this.#remove(key);
    this.#plan();
  }

  clear(): void {
    this.#times.clear();
    this.#order.length = 0;
    this.#plan();
  }

  #remove(key: string): void {
    const at = this.#times.get(key);
    if (at === undefined) return;
    this.#order.splice(this.#order.indexOf(key, this.#placeOf(at)), 1);
    this.#times.delete(key);
  }

  /** The first place whose key is not due later. */
  #placeOf(at: number): number {
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timeAt(middle) ?? at) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #timeAt(place: number): number | undefined {
    const key = this.#order[place];
    return key === undefined ? undefined : this.#times.get(key);
  }

  /** Sets the timer to the time of the next key. */
  #plan(): void {
    const at = this.#timeAt(this.#order.length - 1);
    if (at === this.#timer?.at) return;
    this.#timer?.cancel();
    this.#timer =
      at === undefined
        ? undefined
        : { at, cancel: this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => this.#due(at)) };
  }

  /** A timer may be early by less than `earlyMs`: what it was set for counts as due. */
  #due(planned: number): void {
    this.#timer = undefined;
    const now = Math.max(planned, this.#clock.monotonic());
    for (let at = this.#timeAt(this.#order.length - 1); at !== undefined && at <= now; ) {
      const key = this.#order.pop() ?? "";
      this.#times.delete(key);
      this.#fallDue(key);
      at = this.#timeAt(this.#order.length - 1);
    }
    this.#plan();
  }
}
