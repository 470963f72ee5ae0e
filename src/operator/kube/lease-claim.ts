import type { Clock } from "../runtime/clock.ts";
import type { ClusterClient } from "./client.ts";
import { isAlreadyExists, isNotFound, isStale } from "./errors.ts";
import { guardedPatch } from "./json-patch.ts";
import { claimed, type Lease, type LeaseSpec, leases, newLease, released } from "./lease-record.ts";

/** The wall clock may be set back so far without that being taken for a sleep of unknown length. */
const toleratedStepBackMs = 1000;

export interface LeaseClaimOptions {
  client: ClusterClient;
  clock: Clock;
  namespace: string;
  name: string;
  identity: string;
  leaseDurationMs: number;
  renewDeadlineMs: number;
}

/**
 * One process's claim to one Lease: takes it when it is free, renews it while it is ours, gives it back. Free is a
 * lease that nobody holds, or that stood unchanged for its duration by our own monotonic clock.
 */
export class LeaseClaim {
  readonly #options: LeaseClaimOptions;
  /** The record as last read or written, and since when it stands unchanged, on the monotonic clock. */
  #observed: { lease: Lease; since: number } | undefined;
  /** When the last good renewal began, on both clocks; absent while the lease is not ours. */
  #renewed: { monotonic: number; wall: number } | undefined;

  constructor(options: LeaseClaimOptions) {
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#renewed !== undefined;
  }

  /** Whether the claim holds at this very moment, by both clocks: the monotonic one may have stood still meanwhile. */
  isValid(): boolean {
    if (this.#renewed === undefined) return false;
    const { clock, renewDeadlineMs } = this.#options;
    const elapsed = clock.monotonic() - this.#renewed.monotonic;
    const elapsedOnWall = clock.now() - this.#renewed.wall;
    return elapsed < renewDeadlineMs && elapsedOnWall < renewDeadlineMs && elapsedOnWall >= -toleratedStepBackMs;
  }

  /** Milliseconds on the monotonic clock until the claim ends if it is not renewed. */
  validForMs(): number {
    const { clock, renewDeadlineMs } = this.#options;
    if (this.#renewed === undefined) return 0;
    return Math.max(0, this.#renewed.monotonic + renewDeadlineMs - clock.monotonic());
  }

  /** Milliseconds until the lease is free if nothing changes; 0 where it is now, or nothing is known of it. */
  freeInMs(): number {
    if (this.#observed === undefined) return 0;
    const { lease, since } = this.#observed;
    if ((lease.spec?.holderIdentity ?? "") === "") return 0;
    const duration = Math.max(this.#options.leaseDurationMs, (lease.spec?.leaseDurationSeconds ?? 0) * 1000);
    return Math.max(0, since + duration - this.#options.clock.monotonic());
  }

  /**
   * One try to take or renew the lease; whether it is ours. Throws where the API server gives no usable answer, and
   * when the signal aborts, after which nothing is claimed.
   */
  async attempt(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name, identity } = this.#options;
    const known = this.#observed?.lease;
    // A holder's own record is most likely what the server has: one request in place of two.
    if (this.isHeld && known !== undefined && (await this.#write(known, signal))) return true;
    const lease = await client.get(leases, { namespace, name }, { signal });
    if (lease === undefined) return this.#create(signal);
    this.#observe(lease);
    const others = lease.spec?.holderIdentity !== identity;
    // Somebody may have led while this process slept, and given the lease back: then its term is over all the same.
    if (others && (this.isHeld || this.freeInMs() > 0)) return false;
    return this.#write(lease, signal);
  }

  /** The lease is no longer ours, whatever the record says. */
  drop(): void {
    this.#renewed = undefined;
  }

  /** Gives a lease back that is still ours, so that the next one need not wait. Throws where that fails. */
  async release(): Promise<void> {
    const stillOurs = this.isValid();
    this.drop();
    const lease = this.#observed?.lease;
    if (!stillOurs || lease === undefined) return;
    this.#observe(await this.#patch(lease, released(lease.spec, this.#options.clock.now())));
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name } = this.#options;
    const began = this.#times();
    try {
      const draft = newLease({ namespace, name }, this.#holder(began.wall));
      return this.#held(await client.create(leases, draft, { signal }), began, signal);
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** Writes our claim over this very version of the record; false where somebody was faster or took it away. */
  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const began = this.#times();
    try {
      const spec = claimed(lease.spec, this.#holder(began.wall));
      return this.#held(await this.#patch(lease, spec, signal), began, signal);
    } catch (error) {
      if (isStale(error) || isNotFound(error)) return false;
      throw error;
    }
  }

  #held(lease: Lease, began: { monotonic: number; wall: number }, signal: AbortSignal): true {
    this.#observe(lease);
    signal.throwIfAborted();
    this.#renewed = began;
    return true;
  }

  #patch(lease: Lease, spec: LeaseSpec, signal?: AbortSignal): Promise<Lease> {
    const { client, namespace, name } = this.#options;
    const ops = guardedPatch(lease, { resourceVersion: true }).set(["spec"], spec).ops();
    return client.patch(leases, { namespace, name }, ops, { signal });
  }

  #observe(lease: Lease): void {
    const before = this.#observed;
    const unchanged =
      before?.lease.metadata.uid === lease.metadata.uid &&
      JSON.stringify(before.lease.spec) === JSON.stringify(lease.spec);
    this.#observed = { lease, since: unchanged ? before.since : this.#options.clock.monotonic() };
  }

  #holder(now: number): { identity: string; durationMs: number; now: number } {
    return { identity: this.#options.identity, durationMs: this.#options.leaseDurationMs, now };
  }

  #times(): { monotonic: number; wall: number } {
    const { clock } = this.#options;
    return { monotonic: clock.monotonic(), wall: clock.now() };
  }
}
