/** Bytes of bodies and answers that the process holds at most, for all clients together. */
export const mostInFlight = 192 * 1024 ** 2;

/**
 * A budget that clients share, such as the bytes that the process holds for them (bodies on their way in, answers on
 * their way out), or connections. Each holder (an account, a compute, the address of a stranger) may hold as much as is
 * free, so one alone gets half of the budget, two a third each, and some is left for the next one however many there
 * are.
 */
export class Shares {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(most = mostInFlight) {
    this.#most = most;
  }

  /** The part held now, by all. */
  get all(): number {
    return this.#all;
  }

  /** The part of one request or connection, nothing at first. */
  of(holder: string): Holding {
    let own = 0;
    return {
      take: (amount) => {
        const held = (this.#held.get(holder) ?? 0) + amount;
        if (held > this.#most - this.#all - amount) return false;
        this.#set(holder, held, amount);
        own += amount;
        return true;
      },
      release: () => {
        this.#set(holder, (this.#held.get(holder) ?? 0) - own, -own);
        own = 0;
      },
    };
  }

  #set(holder: string, held: number, change: number): void {
    this.#all += change;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}

/** A part of the budget. */
export interface Holding {
  /** Takes more; `false`, and nothing taken, where the holder has its share. */
  take(amount: number): boolean;
  /** Gives all of them back. */
  release(): void;
}

/**
 * The network of a stranger's address, which is the holder of its part: of IPv6 the first 64 bits, since one host has
 * all addresses that begin so.
 */
export function networkOf(address = ""): string {
  const [, mapped] = /^::ffff:([0-9.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [before = "", after] = address.split("::");
  const first = before.split(":");
  const left = after === undefined ? [] : after.split(":");
  const filled = [...first, ...Array<string>(Math.max(0, 8 - first.length - left.length)).fill("0"), ...left];
  return filled
    .slice(0, 4)
    .map((group) => group || "0")
    .join(":");
}
