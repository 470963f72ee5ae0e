import type { Cancel, Clock } from "../../runtime/clock.ts";
import { FairQueue } from "../../runtime/fair-queue.ts";

/** Deletions are counted over a minute. */
const countedForMs = 60_000;

/**
 * A caller comes or leaves. Where it does neither, as when its project's turn to write is long in coming, its place
 * goes to others after so long, in milliseconds.
 */
const calledForMs = 10_000;

/** A deletion that asks the brake. */
export interface BrakeCaller {
  uid: string;
  /** Which lane it waits in, as `tenant/project`: tenants take turns, and so do the projects of each. */
  lane: string;
  /** Called when it is its turn. */
  ready: () => void;
}

/**
 * Lets so many deletions out per minute, for all Computes together: a brake on mistakes, not a rate.
 *
 * Who may not go waits, and is called when it may: one of a project at a time, since they would wait for each other.
 * Its place is kept until its deletion is counted or it leaves.
 */
export class DeletionBrake {
  readonly #clock: Clock;
  readonly #perMinute: number;
  #counted: number[] = [];
  readonly #waiting = new Map<string, BrakeCaller>();
  readonly #lanes = new FairQueue({ perFlow: 1, perTenant: Number.POSITIVE_INFINITY });
  readonly #called = new Map<string, { until: number; release: () => void }>();
  /** Who is asking right now, and is answered rather than called. */
  #asking: string | undefined;
  #timer: Cancel | undefined;

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Whether no more deletions may go now. */
  get isExhausted(): boolean {
    const now = this.#clock.monotonic();
    const counted = this.#counted.filter((at) => now - at < countedForMs);
    return counted.length + this.#called.size >= this.#perMinute;
  }

  /** How many wait because of the brake. */
  get held(): number {
    return this.isExhausted ? this.#waiting.size : 0;
  }

  /**
   * Whether this deletion may go on now. It is then to be counted, or leaves. Where the brake is not exhausted, another
   * of its project is to go first.
   */
  mayGo(caller: BrakeCaller): boolean {
    const { uid, lane } = caller;
    if (this.#called.has(uid)) return true;
    this.#waiting.set(uid, caller);
    this.#lanes.put(uid, lane, this.#clock.monotonic());
    this.#asking = uid;
    this.#callNext();
    this.#asking = undefined;
    return this.#called.has(uid);
  }

  /** This deletion is being sent. */
  count(uid: string): void {
    this.#counted.push(this.#clock.monotonic());
    this.leave(uid);
  }

  /** This deletion is no longer wanted, or not now. */
  leave(uid: string): void {
    this.#waiting.delete(uid);
    this.#lanes.remove(uid);
    this.#called.get(uid)?.release();
    this.#called.delete(uid);
    this.#callNext();
  }

  /** Something other than the brake changed for all who wait. */
  wakeAll(): void {
    for (const { ready } of this.#waiting.values()) ready();
  }

  /** Nobody wants anything any more; what was counted stays so. */
  dismiss(): void {
    this.#waiting.clear();
    this.#lanes.clear();
    for (const { release } of this.#called.values()) release();
    this.#called.clear();
    this.#timer?.();
  }

  #callNext(): void {
    const now = this.#clock.monotonic();
    this.#counted = this.#counted.filter((at) => now - at < countedForMs);
    for (const [uid, { until, release }] of this.#called) {
      if (until > now) continue;
      this.#called.delete(uid);
      release();
    }
    while (this.#counted.length + this.#called.size < this.#perMinute) {
      const next = this.#lanes.next();
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
    if (first !== undefined) ends.push(first + countedForMs);
    if (ends.length === 0) return;
    this.#timer = this.#clock.after(Math.max(1, Math.min(...ends) - now), () => this.#callNext());
  }
}
