import { builtInKind } from "../objects/object.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ClusterClient } from "./client.ts";
import { isAlreadyExists, isNotFound, isStale } from "./errors.ts";
import { guardedPatch } from "./json-patch.ts";
import type { Draft, KubeObject, ObjectRef } from "./objects.ts";

/** The wall clock may be set back by this much without counting as a sleep of unknown length. */
const toleratedStepBackMs = 1000;

export interface LeaseClaimOptions {
  /** A client of its own: its writes need no leadership, and its deadline is well below `renewDeadlineMs`. */
  client: ClusterClient;
  clock: Clock;
  namespace: string;
  name: string;
  /** Unique to this process. */
  identity: string;
  leaseDurationMs: number;
  renewDeadlineMs: number;
}

/**
 * A process's claim to one Lease: acquires it when it is free, renews it, releases it. A lease is free if nobody holds
 * it, or if it did not change for its duration by our own monotonic clock.
 */
export class LeaseClaim {
  readonly #options: LeaseClaimOptions;
  /** The record as last read or written, and since when it has not changed, on the monotonic clock. */
  #observed: { lease: Lease; since: number } | undefined;
  /** Begin of the last successful renewal, on both clocks; absent while the lease is not ours. */
  #renewed: { monotonic: number; wall: number } | undefined;

  constructor(options: LeaseClaimOptions) {
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#renewed !== undefined;
  }

  /**
   * True if the claim is valid right now, by both clocks: the monotonic one may have stood still while the machine
   * slept.
   */
  isValid(): boolean {
    if (this.#renewed === undefined) return false;
    const { clock, renewDeadlineMs } = this.#options;
    const elapsed = clock.monotonic() - this.#renewed.monotonic;
    const elapsedOnWall = clock.now() - this.#renewed.wall;
    return elapsed < renewDeadlineMs && elapsedOnWall < renewDeadlineMs && elapsedOnWall >= -toleratedStepBackMs;
  }

  /** Milliseconds on the monotonic clock until the claim ends without renewal. */
  validForMs(): number {
    const { clock, renewDeadlineMs } = this.#options;
    if (this.#renewed === undefined) return 0;
    return Math.max(0, this.#renewed.monotonic + renewDeadlineMs - clock.monotonic());
  }

  /** Milliseconds until the lease is free if nothing changes; 0 if it is free or unknown. */
  freeInMs(): number {
    if (this.#observed === undefined) return 0;
    const { lease, since } = this.#observed;
    if ((lease.spec?.holderIdentity ?? "") === "") return 0;
    const duration = Math.max(this.#options.leaseDurationMs, (lease.spec?.leaseDurationSeconds ?? 0) * 1000);
    return Math.max(0, since + duration - this.#options.clock.monotonic());
  }

  /**
   * Tries once to acquire or renew the lease; returns whether it is ours. Throws if the API server gives no usable
   * answer or the signal aborts; then nothing is claimed.
   */
  async attempt(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name, identity } = this.#options;
    const known = this.#observed?.lease;
    // The record of a holder is most likely current: one request instead of two.
    if (this.isHeld && known !== undefined && (await this.#write(known, signal))) return true;
    const lease = await client.get(leases, { namespace, name }, { signal });
    if (lease === undefined) return this.#create(signal);
    this.#observe(lease);
    const others = lease.spec?.holderIdentity !== identity;
    // Another process may have led and released the lease while this one slept, so this term is over.
    if (others && (this.isHeld || this.freeInMs() > 0)) return false;
    return this.#write(lease, signal);
  }

  /** The lease is no longer ours, whatever the record says. */
  drop(): void {
    this.#renewed = undefined;
  }

  /** Releases a lease that is still ours, so that the next process need not wait. Throws on failure. */
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

  /** Writes our claim over this very version of the record; false if another process was faster or deleted it. */
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

export interface LeaseSpec {
  /** The holder; empty or absent once released. */
  holderIdentity?: string | undefined;
  leaseDurationSeconds?: number | undefined;
  acquireTime?: string | undefined;
  renewTime?: string | undefined;
  leaseTransitions?: number | undefined;
}

export interface Lease extends KubeObject {
  spec?: LeaseSpec | undefined;
}

export const leases = builtInKind<Lease>("Lease", "leases", { group: "coordination.k8s.io" });

/** A new Lease, held by `identity`. */
export function newLease(
  ref: Required<Pick<ObjectRef, "name" | "namespace">>,
  claim: { identity: string; durationMs: number; now: number },
): Draft<Lease> {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: ref.name, namespace: ref.namespace },
    spec: claimed(undefined, claim),
  };
}

/** The record of an acquisition or renewal. acquireTime and the number of transitions change only with the holder. */
export function claimed(
  before: LeaseSpec | undefined,
  claim: { identity: string; durationMs: number; now: number },
): LeaseSpec {
  const now = microTime(claim.now);
  const ours = before?.holderIdentity === claim.identity;
  const transitions = before?.leaseTransitions ?? 0;
  return {
    holderIdentity: claim.identity,
    leaseDurationSeconds: Math.ceil(claim.durationMs / 1000),
    acquireTime: ours ? (before.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: before === undefined || ours ? transitions : transitions + 1,
  };
}

/** The record of a release: the next process need not wait for the lease to expire. */
export function released(before: LeaseSpec | undefined, now: number): LeaseSpec {
  return { ...before, holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTime(now) };
}

/** A V1MicroTime, which must have six decimals. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
