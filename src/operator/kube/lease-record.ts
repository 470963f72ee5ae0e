import type { Draft, KubeObject, ObjectRef, ResourceKind } from "./objects.ts";

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

export const leases: ResourceKind<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

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
