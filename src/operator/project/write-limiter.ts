import type { Clock } from "../runtime/clock.ts";
import { Turnstile } from "../runtime/turnstile.ts";
import type { WriteWindow } from "./write-window.ts";

/** The pause of a project after a 423, in milliseconds: doubles up to the longest until a write is accepted. */
const pause = { firstMs: 100, mostMs: 10_000 } as const;

/** Delay before a project is tried again in which another connection writes, in milliseconds. */
const othersMs = 200;

/** Delay before a Compute that waits for the request budget is asked again whether it could start, in milliseconds. */
const stuckMs = 1000;

/** The weight of the newest sample in the estimate of how long a called Compute takes to send its write. */
const newest = 0.2;

/** By this share of that time a Compute is called early: one that takes less than usual is not to come too early. */
const calledEarly = 0.7;

export interface WriteLimiterOptions {
  clock: Clock;
  window: WriteWindow;
  /** True if the service shows names: where it does not, writes go one at a time. */
  showsNames: () => boolean;
  /** Enqueues these Computes. */
  enqueue: (uids: Iterable<string>) => void;
  /** True if a Compute that is enqueued now gets a worker soon: others are not called, and keep no place. */
  mayStart?: ((uid: string) => boolean) | undefined;
  /**
   * Operations of earlier writes: how many writes still run at that time, and when the next of them is expected to end.
   */
  operations: { writesRunningAt: (at: number) => number; nextEndAfter: (at: number) => number | undefined };
}

/** A Compute whose write is on its way. */
interface Holder {
  /** Time of its call, or of its taking a place. */
  since: number;
  /** True while it waits for the request budget: no other of its project waits there too. */
  waitsForBudget: boolean;
  /** True if it waited there before. */
  hasWaited: boolean;
  /** Number of 423 answers of the service when it took its place. */
  refusals: number;
  tenant: string;
}

/**
 * Limit of the writes to one project that are under way: as many as its window lets. A write counts from the moment
 * that its Compute takes a place until its operations have ended, or are expected to have. Other Computes wait here:
 * tenants are called in turn, and the Computes of one in order of arrival.
 */
export class ProjectWriteLimiter {
  readonly #options: WriteLimiterOptions;
  readonly #turnstile: Turnstile;
  readonly #holders = new Map<string, Holder>();
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #refusedInARow = 0;
  /** The last write had to wait for the request budget. */
  #isBudgetShort = false;
  /** Time that a called Compute takes to send its write, so that it is called that much earlier. In milliseconds. */
  #leadMs = 0;

  constructor(options: WriteLimiterOptions) {
    this.#options = options;
    const [free, moreAt] = [(now: number) => this.#free(now), (now: number) => this.#moreAt(now)];
    this.#turnstile = new Turnstile({ clock: options.clock, free, moreAt });
  }

  /** Takes a place, or queues the Compute and returns false. The Compute keeps its place until it gives it back. */
  take(uid: string, tenant = ""): boolean {
    const hasWaited = this.#holders.get(uid)?.waitsForBudget === true;
    this.#forget(uid);
    if (!this.#turnstile.ask(this.#caller(uid, tenant), hasWaited)) return false;
    const { refusals } = this.#options.window;
    const since = this.#turnstile.enter(uid).calledAt;
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

  /** The write of this Compute leaves now; returns false if it may not: a 423 to another write voids its place. */
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
    const { tenant = "" } = this.#holders.get(uid) ?? {};
    this.#forget(uid);
    // The pause may have ended while the process computed: nobody else calls a Compute that asked just now.
    if (this.#turnstile.ask(this.#caller(uid, tenant), true)) this.#options.enqueue([uid]);
  }

  /** The Compute writes no more for now. */
  give(uid: string): void {
    this.#forget(uid);
    this.#turnstile.give(uid);
    this.offer();
  }

  /** Calls as many waiting Computes as have room; each that still wants to write takes a place. */
  offer(): void {
    this.#turnstile.offer();
  }

  leave(uid: string): void {
    this.#forget(uid);
    this.#turnstile.leave(uid);
    this.offer();
  }

  /** A place that is kept for the budget is given back: other connections to the project share it. */
  stop(): void {
    this.#turnstile.dismiss();
    for (const [uid, { waitsForBudget }] of this.#holders) if (waitsForBudget) this.#forget(uid);
  }

  #caller(uid: string, flow: string) {
    return { key: uid, flow, ready: () => this.#options.enqueue([uid]), isAble: () => this.#mayStart(uid) };
  }

  #mayStart(uid: string): boolean {
    return this.#options.mayStart?.(uid) !== false;
  }

  #forget(uid: string): void {
    if (this.#holders.delete(uid)) this.#options.window.leave();
  }

  get #earlyMs(): number {
    return this.#leadMs * calledEarly;
  }

  /** Places are free as far as the window and the operations of earlier writes let. */
  #free(now: number): number {
    if (now < this.#pausedUntil) return 0;
    for (const [uid, { waitsForBudget }] of this.#holders) {
      if (!waitsForBudget) continue;
      if (this.#mayStart(uid)) return 0;
      this.#forget(uid);
    }
    const { window, showsNames, operations } = this.#options;
    const size = showsNames() ? window.size : 1;
    const places = size - window.underWay - operations.writesRunningAt(now + this.#earlyMs);
    // A short budget lets only one Compute of the project wait there.
    return this.#isBudgetShort ? Math.min(1, places) : places;
  }

  /**
   * Places become free when a pause is over, when operations are expected to end, and when one that waits for the
   * request budget could not start any more.
   */
  #moreAt(now: number): number {
    const { window, operations } = this.#options;
    const waitsForBudget = [...this.#holders.values()].some((holder) => holder.waitsForBudget);
    const times = [
      window.underWay > this.#holders.size ? now + othersMs : now,
      waitsForBudget ? now + stuckMs : now,
      this.#pausedUntil,
      (operations.nextEndAfter(now + this.#earlyMs) ?? Number.NEGATIVE_INFINITY) - this.#earlyMs,
    ];
    return Math.min(...times.filter((at) => at > now));
  }
}
