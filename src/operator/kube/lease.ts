import { type Cancel, type Random, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { aborted, type Leadership, type LeadershipTerm } from "./leadership.ts";
import { LeaseClaim, type LeaseClaimOptions } from "./lease-claim.ts";

export interface LeaderElectionOptions extends Omit<LeaseClaimOptions, "leaseDurationMs" | "renewDeadlineMs"> {
  random: Random;
  log: Logger;
  /** Time for which other processes respect a lease that is not renewed. Default 15 s. */
  leaseDurationMs?: number;
  /** Time for which a leader may write after it began its last successful renewal. Default 10 s. */
  renewDeadlineMs?: number;
  /** The interval of renewals, and of checks of another process's lease. Default 2 s. */
  retryPeriodMs?: number;
}

/** Logged when this process becomes leader, because a lease that it lost and took again shows it nowhere else. */
export const leadingMessage = "Leading: this process holds the lease";

/**
 * Leader election on a Lease, with the rules of client-go.
 *
 * Expected flow: acquire, renew every `retryPeriodMs`, release at shutdown. Guarantees: leadership ends
 * `renewDeadlineMs` after the last successful renewal *began*, by the monotonic or the wall clock, whichever is first.
 * Other processes take over `leaseDurationMs` after that renewal at the earliest; the time in between is for the last
 * writes to arrive. Assumptions: the deadline of a write is shorter than that time, and clocks run at the same speed.
 */
export class LeaderElection implements Leadership {
  readonly #options: LeaderElectionOptions;
  readonly #retryPeriodMs: number;
  readonly #claim: LeaseClaim;
  readonly #log: Logger;

  constructor(options: LeaderElectionOptions) {
    const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000, ...rest } = options;
    if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > 2 * retryPeriodMs && retryPeriodMs > 0)) {
      throw new Error("lease: its duration must exceed the renew deadline, and that twice the retry period");
    }
    this.#options = options;
    this.#retryPeriodMs = retryPeriodMs;
    this.#claim = new LeaseClaim({ ...rest, leaseDurationMs, renewDeadlineMs });
    this.#log = options.log.child({ lease: `${options.namespace}/${options.name}`, identity: options.identity });
  }

  /** True if a write may be sent right now. */
  mayWrite(): boolean {
    return this.#claim.isValid();
  }

  /** Stands for election until the signal aborts, leads while elected, and finally releases the lease. */
  async run(term: LeadershipTerm): Promise<void> {
    while (await this.#acquire(term.signal)) await this.#lead(term);
  }

  /** Resolves with true once this process holds the lease, with false if the signal aborts first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      try {
        if (await this.#claim.attempt(signal)) {
          this.#log.info({}, leadingMessage);
          return true;
        }
      } catch (error) {
        if (!signal.aborted) this.#log.warn({ error }, "Cannot read or take the lease: trying again");
      }
      const jittered = this.#retryPeriodMs * (1 + 0.2 * random());
      const freeIn = this.#claim.freeInMs();
      await sleep(clock, freeIn > 0 ? Math.min(freeIn, jittered) : jittered, signal).catch(() => {});
    }
    return false;
  }

  async #lead({ signal, onStarted }: LeadershipTerm): Promise<void> {
    const lost = new AbortController();
    const over = new AbortController();
    const leading = AbortSignal.any([signal, lost.signal]);
    const renewing = this.#renew(lost, over.signal);
    try {
      await onStarted(leading);
      await aborted(leading);
    } finally {
      over.abort();
      await renewing;
      await this.#release();
    }
  }

  /** Renews until `over`; aborts `lost` if another process holds the lease or it was not renewed in time. */
  async #renew(lost: AbortController, over: AbortSignal): Promise<void> {
    const lose = (why: string) => {
      this.#claim.drop();
      this.#log.warn({}, `No longer leading: ${why}`);
      lost.abort();
    };
    const atDeadline = (): Cancel =>
      this.#options.clock.after(this.#claim.validForMs(), () => lose("the lease was not renewed in time"));
    let cancel = atDeadline();
    while (!lost.signal.aborted && !over.aborted) {
      try {
        await sleep(this.#options.clock, this.#retryPeriodMs, over);
        if (lost.signal.aborted) break;
        if (!(await this.#claim.attempt(lost.signal))) {
          lose("another process holds the lease");
          break;
        }
        cancel();
        cancel = atDeadline();
      } catch (error) {
        if (!lost.signal.aborted && !over.aborted) this.#log.warn({ error }, "Cannot renew the lease: trying again");
      }
    }
    cancel();
  }

  async #release(): Promise<void> {
    if (!this.#claim.isHeld) return;
    try {
      await this.#claim.release();
      this.#log.info({}, "Released the lease");
    } catch (error) {
      this.#log.info({ error }, "Could not release the lease: it expires on its own");
    }
  }
}
