import type { Clock, Random } from "../../../src/operator/runtime/clock.ts";
import { Dice } from "../dice.ts";

/** How far beside its deadline a delay ends at most, in milliseconds. */
const besideMs = 6;

export interface EdgesOptions {
  clock: Pick<Clock, "monotonic">;
  random: Random;
  /** When the timers of operators are due, on the same clock. */
  awaited: () => readonly number[];
  /** Hears in how many milliseconds a deadline is that was noted. */
  noted: (inMs: number) => void;
}

/**
 * Draws delays that end within milliseconds of a deadline. An operator sets a timer for each deadline that it knows
 * (settle, lease, retry, refresh, patience), so its timers are the deadlines. The dice are its own: a run in which no
 * delay is aimed stays as it is.
 */
export class Edges {
  /** The share of delays that end at a deadline, 0 to 1. */
  share = 0;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #dice: Dice;
  readonly #awaited: () => readonly number[];
  readonly #noted = new Set<number>();
  readonly #hear: (inMs: number) => void;

  constructor({ clock, random, awaited, noted }: EdgesOptions) {
    this.#clock = clock;
    this.#dice = new Dice(random);
    this.#awaited = awaited;
    this.#hear = noted;
  }

  /**
   * A delay of `fromMs` to `toMs` that ends at a deadline; `undefined` where none is due then, or the dice are against
   * it. Now and then it ends at the deadline of the request itself, after `timeoutMs`.
   */
  delay(fromMs: number, toMs: number, timeoutMs?: number): number | undefined {
    if (this.share === 0 || !this.#dice.chance(this.share)) return undefined;
    const beside = this.#dice.between(-besideMs, besideMs + 1);
    if (timeoutMs !== undefined && this.#dice.chance(0.1)) return timeoutMs + beside;
    const now = this.#clock.monotonic();
    const delaysTo = (times: Iterable<number>) =>
      [...times].map((due) => due - now).filter((ms) => ms >= fromMs && ms <= toMs);
    const noted = delaysTo(this.#noted);
    const delays = noted.length > 0 && this.#dice.chance(0.5) ? noted : delaysTo(this.#awaited());
    return delays.length === 0 ? undefined : Math.max(0, this.#dice.pick(delays) + beside);
  }

  /** Notes that a deadline lies so far ahead which is worth more than other timers. */
  note(inMs: number): void {
    this.#noted.add(this.#clock.monotonic() + inMs);
    this.#hear(inMs);
  }

  /** Whether this time too, where there is no deadline to aim at. */
  chance(share: number): boolean {
    return this.share > 0 && this.#dice.chance(share);
  }

  between(low: number, high: number): number {
    return this.#dice.between(low, high);
  }
}
