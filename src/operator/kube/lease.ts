import { type Cancel, type Clock, type Random, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { ClusterClient } from "./client.ts";
import { aborted, type Leadership, type LeadershipTerm } from "./leadership.ts";
import { LeaseClaim } from "./lease-claim.ts";

export interface LeaderElectionOptions {
  /** One of its own, whose writes need no leadership, and whose deadline is well below `renewDeadlineMs`. */
  client: ClusterClient;
  clock: Clock;
  random: Random;
  log: Logger;
  namespace: string;
  name: string;
  /** Of this process and no other, before or after it. */
  identity: string;
  /** How long others leave a lease alone that is not renewed; 15 s where left out. */
  leaseDurationMs?: number;
  /** How long after it began its last good renewal a leader may write; 10 s where left out. */
  renewDeadlineMs?: number;
  /** Between two renewals, and between two looks at another's lease; 2 s where left out. */
  retryPeriodMs?: number;
}

/** Logged when this process comes to lead: nobody else can see that it takes a lease again that it had lost. */
export const leadingMessage = "Leading: this process holds the lease";

/**
 * Leader election on a Lease, with the rules of client-go's. Leadership ends `renewDeadlineMs` after the last good
 * renewal *began*, by the monotonic or the wall clock, whichever says so first. Others take over no sooner than
 * `leaseDurationMs` after it; what was sent last has the time in between to arrive.
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

  /** Whether a write may be sent at this very moment. */
  mayWrite(): boolean {
    return this.#claim.isValid();
  }

  /** Stands for election until the signal aborts, leads while elected, and gives the lease back in the end. */
  async run(term: LeadershipTerm): Promise<void> {
    while (await this.#acquire(term.signal)) await this.#lead(term);
  }

  /** Resolves with true once the lease is ours, with false when the signal aborts before. */
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

  /** Renews until `over`, and aborts `lost` when the lease is somebody else's or could not be renewed in time. */
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
