import type { Cancel, Clock } from "../runtime/clock.ts";
import { FairQueue } from "../runtime/fair-queue.ts";

/** Deletions are counted over a minute. */
const countedForMs = 60_000;

/** So many deletions of a tenant may be unanswered: a service that answers none is not to use up everyone's minute. */
const mostUnanswered = 4;

/**
 * A caller that is called deletes or leaves. If it does neither, as while another write holds its project's write
 * limiter, its place goes to another caller after this long, in milliseconds.
 */
const calledForMs = 10_000;

/** A deletion that asks the brake. */
export interface BrakeCaller {
  uid: string;
  /** The flow that it waits in, as `tenant/project`: tenants take turns, and so do the projects of each. */
  flow: string;
  /** Called when it may delete. */
  ready: () => void;
}

/**
 * Allows so many deletions per minute, for all Computes together: a brake on mistakes, not a rate.
 *
 * A caller that may not delete waits and is called when it may: one of a project at a time, because they would wait for
 * each other. Its place is kept until its deletion is counted or it leaves.
 */
export class DeletionBrake {
  readonly #clock: Clock;
  readonly #perMinute: number;
  /** Deletions that may go, oldest first. */
  #counted: { uid: string; at: number }[] = [];
  readonly #waiting = new Map<string, BrakeCaller>();
  readonly #queue = new FairQueue({ perFlow: 1, perTenant: mostUnanswered });
  readonly #called = new Map<string, { until: number; release: () => void }>();
  /** Deletions that were counted and whose reconcile goes on. */
  readonly #underWay = new Map<string, () => void>();
  /** The caller that asks right now, which is answered rather than called. */
  #asking: string | undefined;
  #timer: Cancel | undefined;

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Whether no more deletions may go now. */
  get isExhausted(): boolean {
    const now = this.#clock.monotonic();
    const counted = this.#counted.filter(({ at }) => now - at < countedForMs);
    return counted.length + this.#called.size >= this.#perMinute;
  }

  /** How many wait because of the brake. */
  get held(): number {
    return this.isExhausted ? this.#waiting.size : 0;
  }

  /**
   * Whether this deletion may be sent now; it is then counted, or the caller leaves. If the brake is not exhausted,
   * another deletion of the same project goes first.
   */
  mayGo(caller: BrakeCaller): boolean {
    const { uid, flow } = caller;
    if (this.#called.has(uid)) return true;
    this.#waiting.set(uid, caller);
    this.#queue.put(uid, flow, this.#clock.monotonic());
    this.#asking = uid;
    this.#callNext();
    this.#asking = undefined;
    return this.#called.has(uid);
  }

  /** This deletion goes; its place is kept until it leaves. */
  count(uid: string): void {
    this.#counted.push({ uid, at: this.#clock.monotonic() });
    const called = this.#called.get(uid);
    if (called !== undefined) this.#underWay.set(uid, called.release);
    this.#called.delete(uid);
    this.#waiting.delete(uid);
  }

  /** It leaves only now, after a question to the API server: its minute begins here. */
  sent(uid: string): void {
    const index = this.#counted.findLastIndex((counted) => counted.uid === uid);
    if (index >= 0) this.#counted.splice(index, 1);
    this.#counted.push({ uid, at: this.#clock.monotonic() });
  }

  /** This deletion is over, no longer wanted, or not now. */
  leave(uid: string): void {
    this.#waiting.delete(uid);
    this.#queue.remove(uid);
    this.#underWay.get(uid)?.();
    this.#underWay.delete(uid);
    this.#called.get(uid)?.release();
    this.#called.delete(uid);
    this.#callNext();
  }

  /** Something other than the brake changed for all callers that wait. */
  wakeAll(): void {
    for (const { ready } of this.#waiting.values()) ready();
  }

  /** No caller waits any more; deletions that were counted stay counted. */
  dismiss(): void {
    this.#waiting.clear();
    this.#queue.clear();
    for (const { release } of this.#called.values()) release();
    this.#called.clear();
    this.#timer?.();
  }

  #callNext(): void {
    const now = this.#clock.monotonic();
    this.#counted = this.#counted.filter(({ at }) => now - at < countedForMs);
    for (const [uid, { until, release }] of this.#called) {
      if (until > now) continue;
      this.#called.delete(uid);
      release();
    }
    while (this.#counted.length + this.#called.size < this.#perMinute) {
      const next = this.#queue.next();
      if (next === undefined) break;
      const { key: uid, release } = next;
      const caller = this.#waiting.get(uid);
      this.#waiting.delete(uid);
      this.#called.set(uid, { until: now + calledForMs, release });
      if (uid !== this.#asking) caller?.ready();
    }
    this.#schedule(now);
  }

  #schedule(now: number): void {
    this.#timer?.();
    if (this.#waiting.size === 0) return;
    const [first] = this.#counted;
    const ends = [...this.#called.values()].map(({ until }) => until);
    if (first !== undefined) ends.push(first.at + countedForMs);
    if (ends.length === 0) return;
    this.#timer = this.#clock.after(Math.max(1, Math.min(...ends) - now), () => this.#callNext());
  }
}
