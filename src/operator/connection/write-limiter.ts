import type { Cancel, Clock } from "../runtime/clock.ts";
import { Rotation } from "../runtime/rotation.ts";
import type { WriteWindow } from "./write-window.ts";

/** A Compute that was called and neither writes nor gives up loses its place after so long, in milliseconds. */
const calledForMs = 10_000;

/** The pause of a project after a 423, in milliseconds: doubles up to the longest until a write is accepted. */
const pause = { firstMs: 100, mostMs: 10_000 } as const;

/** How soon a project is tried again in which another connection writes, in milliseconds. */
const othersMs = 200;

/** Callers that could not get a worker are asked again after this time, in milliseconds. */
const againMs = 1000;

/** The weight of the newest sample in the estimate of how long a called Compute takes to send its write. */
const newest = 0.2;

/** By this share of that time a Compute is called early: one that takes less than usual is not to come too early. */
const calledEarly = 0.7;

export interface WriteLimiterOptions {
  clock: Clock;
  window: WriteWindow;
  /** Whether the service shows names: where it does not, writes go one at a time. */
  showsNames: () => boolean;
  /** Enqueues these Computes. */
  enqueue: (uids: Iterable<string>) => void;
  /** Whether a Compute that is enqueued now gets a worker soon: others are not called, and keep no place. */
  mayStart?: ((uid: string) => boolean) | undefined;
  /**
   * Operations of earlier writes: how many writes still run at that time, and when the next of them is expected to
   * end.
   */
  operations: { writesRunningAt: (at: number) => number; nextEndAfter: (at: number) => number | undefined };
}

/** A Compute whose write is on its way. */
interface Holder {
  /** When it was called, or took its place. */
  since: number;
  /** It waits for the request budget: no other of its project waits there too. */
  waitsForBudget: boolean;
  /** It waited there before. */
  hasWaited: boolean;
  /** How often the service had answered 423 when it took its place. */
  refusals: number;
  tenant: string;
}

/**
 * How many writes to one project are under way: as many as its window lets. A write counts from the moment that its
 * Compute takes a place until its operations have ended, or are expected to have. Other Computes wait here: tenants are
 * called in turn, and the Computes of one in order of arrival. Those that could not get a worker are passed over.
 */
export class ProjectWriteLimiter {
  readonly #options: WriteLimiterOptions;
  readonly #waiting = new Rotation<string>();
  /** Called Computes, and when: each has a place until its reconcile takes it or ends. */
  readonly #called = new Map<string, number>();
  readonly #holders = new Map<string, Holder>();
  #timer: Cancel | undefined;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #refusedInARow = 0;
  /** The last write had to wait for the request budget. */
  #isBudgetShort = false;
  /** How long a called Compute takes to send its write, so that it is called that much earlier. In milliseconds. */
  #leadMs = 0;

  constructor(options: WriteLimiterOptions) {
    this.#options = options;
  }

  /** Takes a place, or queues the Compute and returns false. The Compute keeps its place until it gives it back. */
  take(uid: string, tenant = ""): boolean {
    const now = this.#options.clock.monotonic();
    const since = this.#called.get(uid) ?? now;
    const hasWaited = this.#holders.get(uid)?.waitsForBudget === true;
    this.#called.delete(uid);
    this.#release(uid);
    if (this.#free(now) < 1) {
      this.#waiting.add(uid, tenant, uid);
      this.#schedule(now);
      return false;
    }
    this.#waiting.delete(uid);
    const { refusals } = this.#options.window;
    this.#holders.set(uid, { since, waitsForBudget: false, hasWaited, refusals, tenant });
    this.#options.window.enter();
    return true;
  }

  /** The Compute keeps its place while it waits for the request budget and could start; nobody else gets one. */
  waitsForBudget(uid: string): void {
    const holder = this.#holders.get(uid);
    this.#isBudgetShort = true;
    if (holder !== undefined) holder.waitsForBudget = true;
  }

  /** The write of this Compute leaves now; returns whether it may: a 423 to another write voids the place it took. */
  sends(uid: string): boolean {
    const holder = this.#holders.get(uid);
    if (holder === undefined || holder.waitsForBudget) return true;
    if (holder.refusals !== this.#options.window.refusals) return false;
    const tookMs = this.#options.clock.monotonic() - holder.since;
    this.#leadMs += newest * (tookMs - this.#leadMs);
    this.#isBudgetShort = holder.hasWaited;
    this.offer();
    return true;
  }

  /** The service accepted the write of this Compute: from now on the operations of the write count. */
  accepted(uid: string): void {
    this.#options.window.accepted();
    this.#refusedInARow = 0;
    this.#pausedUntil = Number.NEGATIVE_INFINITY;
    this.give(uid);
  }

  /** The service refused the write of this Compute with 423: it is the first to be called when the pause is over. */
  refused(uid: string): void {
    this.#options.window.refused();
    const pauseMs = Math.min(pause.mostMs, pause.firstMs * 2 ** this.#refusedInARow);
    this.#refusedInARow += 1;
    this.#pausedUntil = this.#options.clock.monotonic() + pauseMs;
    this.#waiting.addFirst(uid, this.#holders.get(uid)?.tenant ?? "", uid);
    this.give(uid);
  }

  /** The Compute writes no more for now. */
  give(uid: string): void {
    this.#called.delete(uid);
    this.#release(uid);
    this.offer();
  }

  /** Calls as many waiting Computes as have room; each that still wants to write takes a place. */
  offer(): void {
    const now = this.#options.clock.monotonic();
    for (const [uid, at] of this.#called) if (now - at >= calledForMs) this.#called.delete(uid);
    // Where the budget is short, only one Compute of the project can wait there.
    const most = this.#isBudgetShort ? 1 - this.#called.size : this.#waiting.size;
    const room = Math.min(this.#free(now), this.#waiting.size, most);
    const next: string[] = [];
    let isPassedOver = false;
    while (next.length < room && !isPassedOver) {
      const called = this.#waiting.next((uid) => this.#mayStart(uid));
      if (called === undefined) isPassedOver = true;
      else next.push(called.value);
    }
    for (const uid of next) this.#called.set(uid, now);
    if (next.length > 0) this.#options.enqueue(next);
    this.#schedule(now, isPassedOver);
  }

  leave(uid: string): void {
    this.#waiting.delete(uid);
    this.give(uid);
  }

  /** A place that is kept for the budget is given back: other connections to the project share it. */
  stop(): void {
    this.#timer?.();
    this.#waiting.clear();
    for (const [uid, { waitsForBudget }] of this.#holders) if (waitsForBudget) this.#release(uid);
  }

  get #earlyMs(): number {
    return this.#leadMs * calledEarly;
  }

  #mayStart(uid: string): boolean {
    return this.#options.mayStart?.(uid) !== false;
  }

  #release(uid: string): void {
    if (this.#holders.delete(uid)) this.#options.window.leave();
  }

  /** How many more writes may be under way. */
  #free(now: number): number {
    if (now < this.#pausedUntil) return 0;
    for (const [uid, { waitsForBudget }] of this.#holders) {
      if (!waitsForBudget) continue;
      if (this.#mayStart(uid)) return 0;
      this.#release(uid);
    }
    const { window, showsNames, operations } = this.#options;
    const size = showsNames() ? window.size : 1;
    return size - window.underWay - this.#called.size - operations.writesRunningAt(now + this.#earlyMs);
  }

  /**
   * Places become free when a pause is over, when operations are expected to end, and when a called Compute is late.
   */
  #schedule(now: number, isPassedOver = false): void {
    this.#timer?.();
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    const times = [
      ...(this.#options.window.underWay > this.#holders.size ? [now + othersMs] : []),
      ...(isPassedOver ? [now + againMs] : []),
      this.#pausedUntil,
      (this.#options.operations.nextEndAfter(now + this.#earlyMs) ?? Number.NEGATIVE_INFINITY) - this.#earlyMs,
      ...[...this.#called.values()].slice(0, 1).map((at) => at + calledForMs),
    ].filter((at) => at > now);
    if (times.length === 0) return;
    const delayMs = Math.ceil(Math.min(...times) - now);
    this.#timer = this.#options.clock.after(Math.max(1, delayMs), () => this.offer());
  }
}
