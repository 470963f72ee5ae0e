import type { Cancel, Clock } from "./clock.ts";
import { FairQueue, type FairQueueOptions } from "./fair-queue.ts";
import { shortlyMs } from "./waits.ts";

/** Callers that cannot come are asked again after this time, in milliseconds. */
const againMs = 1000;

/**
 * A called caller first needs a worker, which may take long: at most this many of one flow are called at the same time,
 * shared evenly by the tenants, each with one at least.
 */
const mostCalled = 8;

export interface Caller {
  key: unknown;
  /** As `tenant/flow`. */
  flow: string;
  /** Called when a place is kept for the caller, which then asks again or leaves. */
  ready: () => void;
  /** False while the caller could not come: it is passed over, and no place is kept for it. */
  isAble?: (() => boolean) | undefined;
}

export interface TurnstileOptions extends FairQueueOptions {
  clock: Clock;
  /** Number of places that nobody has entered; those kept for called callers are among them. */
  free: (now: number) => number;
  /** Time at which more places will be free, on the monotonic clock. A time that has passed says nothing. */
  moreAt: (now: number) => number;
}

interface Waiting {
  caller: Caller;
  /** Time at which it first asked. */
  since: number;
}

interface Called extends Waiting {
  flow: string;
  /** Time at which it was called, or asked and was let in at once. */
  at: number;
  release: () => void;
}

/**
 * Callers that wait for a place: in the request budget, among a project's writes, among the deletions of a minute. They
 * differ in what is free.
 *
 * Expected flow: `ask` returns true if a place is kept for the caller, which then enters, and gives the place back when
 * it needs it no more. Else the caller waits, and is called when a place is kept for it.
 * Guarantees: nobody blocks inside. Tenants take turns, and no tenant has more than its share of the places kept for
 * called callers. A place that a caller was called to is its own until it enters, leaves or is late: a reconcile that
 * ends while its object waits here does not leave, so the next one finds the place. A caller whose place is gone when
 * it comes waits before all others.
 */
export class Turnstile {
  readonly #clock: Clock;
  readonly #free: (now: number) => number;
  readonly #moreAt: (now: number) => number;
  readonly #queue: FairQueue<Waiting>;
  /** In the order in which they were called. */
  readonly #called = new Map<unknown, Called>();
  readonly #inside = new Map<unknown, () => void>();
  #isCalling = false;
  #timer: Cancel | undefined;

  constructor({ clock, free, moreAt, ...bounds }: TurnstileOptions) {
    this.#clock = clock;
    this.#free = free;
    this.#moreAt = moreAt;
    this.#queue = new FairQueue(bounds);
  }

  /** Number of callers that wait and were not called. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** For how many a place is kept. */
  get called(): number {
    return this.#called.size;
  }

  /** Number of free places beyond those that are kept. */
  get room(): number {
    return this.#free(this.#clock.monotonic()) - this.#called.size;
  }

  /** Returns true if a place is kept for the caller now; else the caller waits. `isFirst`: before all others. */
  ask(caller: Caller, isFirst = false): boolean {
    const { key, flow } = caller;
    const called = this.#called.get(key);
    if (called !== undefined && this.room >= 0) return true;
    const since = (called ?? this.#queue.get(key))?.since ?? this.#clock.monotonic();
    this.#release(key);
    if (isFirst || called !== undefined) this.#queue.putFirst(key, flow, { caller, since });
    else this.#queue.put(key, flow, { caller, since });
    this.#call(key);
    return this.#called.has(key);
  }

  /** A caller that was let in takes its place. Returns when it first asked, and when it was called. */
  enter(key: unknown): { since: number; calledAt: number } {
    const now = this.#clock.monotonic();
    const called = this.#called.get(key);
    this.#called.delete(key);
    if (called !== undefined) this.#inside.set(key, called.release);
    return { since: called?.since ?? now, calledAt: called?.at ?? now };
  }

  /** The caller gives back the place that it has or was called to; it stays where it waits. */
  give(key: unknown): void {
    if (this.#release(key)) this.#call();
  }

  /** The caller wants no place any more. */
  leave(key: unknown): void {
    const waited = this.#queue.remove(key);
    if (this.#release(key) || waited) this.#call();
  }

  /** Calls as many as there is room for; after a change of what is free. */
  offer(): void {
    this.#call();
  }

  /** Another reason than a place to call all who wait. */
  wakeAll(): void {
    for (const { caller } of Array.from(this.#queue.values())) caller.ready();
  }

  /** About how many places are given out before that of the caller. */
  before(key: unknown): number {
    return this.#queue.before(key) + this.#called.size;
  }

  /** Drops all callers that wait or were called, and the timer; callers that entered stay. */
  dismiss(): void {
    this.#queue.clear();
    for (const { release } of this.#called.values()) release();
    this.#called.clear();
    this.#timer?.();
  }

  #release(key: unknown): boolean {
    const release = this.#called.get(key)?.release ?? this.#inside.get(key);
    this.#called.delete(key);
    this.#inside.delete(key);
    release?.();
    return release !== undefined;
  }

  /** `asking` is answered, not called. Thousands may ask or leave when they are called, so this never nests. */
  #call(asking?: unknown): void {
    if (this.#isCalling) return;
    this.#isCalling = true;
    let isPassedOver = false;
    const now = this.#clock.monotonic();
    const mayGo = ({ caller }: Waiting, flow: string) => {
      const isAble = caller.key === asking || caller.isAble?.() !== false;
      isPassedOver ||= !isAble;
      return isAble && this.#countCalled(flow) < Math.max(1, Math.floor(mostCalled / this.#queue.tenants));
    };
    try {
      // A called caller that neither comes nor leaves loses its place.
      for (const [key, { at }] of this.#called) if (now - at >= shortlyMs) this.#release(key);
      while (this.room >= 1) {
        // The caller that asks is here, so its place is kept for no time: it goes where all who could come were called.
        const next = this.#queue.next(mayGo) ?? this.#queue.take(asking);
        if (next === undefined) break;
        const { key, value, flow, release } = next;
        this.#called.set(key, { ...value, flow, at: now, release });
        if (key !== asking) value.caller.ready();
      }
    } finally {
      this.#isCalling = false;
      this.#schedule(now, isPassedOver);
    }
  }

  #countCalled(flow: string): number {
    let count = 0;
    for (const called of this.#called.values()) if (called.flow === flow) count += 1;
    return count;
  }

  /** `now`: of the call that it ends. What was due later may have passed meanwhile, and needs a timer all the same. */
  #schedule(now: number, isPassedOver: boolean): void {
    this.#timer?.();
    if (this.#queue.size === 0) return;
    const times = [this.#moreAt(now), isPassedOver ? now + againMs : now];
    for (const { at } of this.#called.values()) {
      times.push(at + shortlyMs);
      break;
    }
    const delayMs = Math.min(...times.filter((at) => at > now)) - now;
    if (delayMs === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#clock.after(Math.max(1, Math.ceil(delayMs)), () => this.#call());
  }
}
