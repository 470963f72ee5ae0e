import type { ServiceClock } from "../clock.ts";
import { ofMemory } from "../system-limits.ts";

/** Bytes of bodies and answers that the process holds at most, for all clients together. */
export const mostInFlight = ofMemory(192 * 1024 ** 2);

/** Longest wait for room, in milliseconds: shorter than the time that a request has to arrive. */
const patienceMs = 20_000;

/**
 * The part of a holder's share in which its patient holdings grow as they like, one in so many. The rest is for one of
 * them at a time: many that grow together would take the share, and none of them would come to its end.
 */
const freely = 5;

/**
 * The most that all networks of a site of IPv6 hold together, as so many times what is free. One customer may have all
 * of them, so some is left for other sites; or each network is another customer's, and none of these takes it alone.
 */
const ofSite = 7;

/**
 * A budget that clients share, such as the bytes that the process holds for them (bodies on their way in, answers on
 * their way out), or connections. Each holder (an account, a compute, the address of a stranger) may hold as much as is
 * free, so one alone gets half of the budget, two a third each, and some is left for the next one however many there
 * are.
 */
export class Shares {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  /** By site, what its networks hold together. */
  readonly #sites = new Map<string, number>();
  /** By holder: the one of its patient holdings that may use the whole share. */
  readonly #firsts = new Map<string, Part>();
  /** Oldest first. */
  readonly #waiting = new Set<Waiting>();
  #isWaking = false;
  #all = 0;

  constructor(most = mostInFlight) {
    this.#most = most;
  }

  /** The part held now, by all. */
  get all(): number {
    return this.#all;
  }

  /** The number of holders that hold something. */
  get holders(): number {
    return this.#held.size;
  }

  /** The part of one request or connection, nothing at first. With a clock it is patient: `room` waits. */
  of(holder: string, clock?: Timers): Holding {
    const part: Part = { ...named(holder), own: 0, isPatient: clock !== undefined, end: () => {} };
    return {
      take: (amount) => this.#take(part, amount),
      hold: (amount) => this.#change(part, amount - part.own),
      room: async (amount) => this.#take(part, amount) || (clock !== undefined && this.#wait(part, amount, clock)),
      moveTo: (other) => this.#move(part, other),
      release: () => {
        part.end(false);
        if (this.#firsts.get(part.holder) === part) this.#firsts.delete(part.holder);
        this.#change(part, -part.own);
        this.#wakeSoon();
      },
    };
  }

  #take(part: Part, amount: number): boolean {
    const held = (this.#held.get(part.holder) ?? 0) + amount;
    const heldAtSite = part.site === undefined ? 0 : (this.#sites.get(part.site) ?? 0) + amount;
    const free = this.#most - this.#all - amount;
    if (part.isPatient && part.own > 0 && held > free / freely && !this.#isFirst(part)) return false;
    if (held > free || heldAtSite > ofSite * free) return false;
    this.#change(part, amount);
    return true;
  }

  #move(part: Part, other: string | undefined): void {
    const { holder, own } = part;
    if (other === undefined || other === holder) return;
    this.#change(part, -own);
    if (this.#take(Object.assign(part, named(other)), own)) return;
    this.#change(Object.assign(part, named(holder)), own);
  }

  #isFirst(part: Part): boolean {
    const first = this.#firsts.get(part.holder) ?? part;
    this.#firsts.set(part.holder, first);
    return first === part;
  }

  #change(part: Part, change: number): void {
    part.own += change;
    this.#all += change;
    add(this.#held, part.holder, change);
    if (part.site !== undefined) add(this.#sites, part.site, change);
  }

  #wait(part: Part, amount: number, clock: Timers): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (hasRoom: boolean) => {
        stopTimer();
        this.#waiting.delete(waiting);
        resolve(hasRoom);
      };
      const stopTimer = clock.after(patienceMs, () => end(false));
      const waiting = { part, amount, clock };
      part.end = end;
      this.#waiting.add(waiting);
    });
  }

  /** Once in a turn of the loop, however many give back. */
  #wakeSoon(): void {
    const [oldest] = this.#waiting;
    if (!oldest || this.#isWaking) return;
    this.#isWaking = true;
    oldest.clock.after(0, () => {
      this.#isWaking = false;
      for (const { part, amount } of this.#waiting) if (this.#take(part, amount)) part.end(true);
    });
  }
}

/** A part of the budget. */
export interface Holding {
  /** Takes more; `false`, and nothing taken, where the holder has its share. */
  take(amount: number): boolean;
  /** Holds so much from now on, also where there is no room for it: it is in use already. */
  hold(amount: number): void;
  /** Takes more as soon as there is room; `false` where a patient part has none in time, or another one now. */
  room(amount: number): Promise<boolean>;
  /** Has another holder hold it, as the new owner of a compute, where that one's share has room for it. */
  moveTo(holder: string | undefined): void;
  /** Gives all of them back. */
  release(): void;
}

type Place = Pick<Holding, "take" | "moveTo" | "release">;

type Timers = Pick<ServiceClock, "after">;

/** Parts of several budgets that are taken together, or not at all. */
export function jointly(...holdings: readonly Place[]): Place {
  const release = () => {
    for (const holding of holdings) holding.release();
  };
  const take = (amount: number) => {
    const taken = holdings.every((holding) => holding.take(amount));
    if (!taken) release();
    return taken;
  };
  const moveTo = (holder: string | undefined) => {
    for (const holding of holdings) holding.moveTo(holder);
  };
  return { take, moveTo, release };
}

function add(amounts: Map<string, number>, key: string, change: number): void {
  const amount = (amounts.get(key) ?? 0) + change;
  if (amount > 0) amounts.set(key, amount);
  else amounts.delete(key);
}

interface Waiting {
  part: Part;
  amount: number;
  clock: Timers;
}

/** A holding as the budget knows it. */
interface Part {
  holder: string;
  site: string | undefined;
  own: number;
  readonly isPatient: boolean;
  /** Ends its wait for room. */
  end: (hasRoom: boolean) => void;
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

/** The site of a holder that is a network of IPv6: its first 48 bits. */
function siteOf(holder: string): string | undefined {
  return /^([0-9a-f]+:){3}(?=[0-9a-f]+$)/i.exec(holder)?.[0];
}

function named(holder: string): Pick<Part, "holder" | "site"> {
  return { holder, site: siteOf(holder) };
}
