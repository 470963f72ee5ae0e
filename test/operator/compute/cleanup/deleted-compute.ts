import { expect } from "vitest";
import type { Endpoint } from "../../../../src/api/endpoint.ts";
import { Cleanup, type CleanupOptions } from "../../../../src/operator/compute/cleanup/cleanup.ts";
import { DeletionBrake } from "../../../../src/operator/compute/execute/gate.ts";
import { ClaimIndex } from "../../../../src/operator/compute/observe/claim-index.ts";
import type { ReadonlyState } from "../../../../src/operator/compute/remembered.ts";
import { ReconcileState } from "../../../../src/operator/compute/state.ts";
import { compute, createMark, madeBy } from "../../../support/builders.ts";
import { Reaching } from "../reaching.ts";

/** A Compute as kubectl replace leaves it: without finalizer, link and mark. */
export const replaced = compute({ guarded: false, namespace: "default" });
export const { uid } = replaced.metadata;
/** When it was gone, on the monotonic clock. */
export const begun = 3_000_000;
export const made: Partial<ReadonlyState> = { proved: { endpointID: "ep-one", proof: "marker" } };
export const pending = (mark: object = {}): Partial<ReadonlyState> => ({
  pendingCreate: { since: "2026-01-01T00:00:00Z", seenAt: begun, mark: { ...JSON.parse(createMark()), ...mark } },
});

interface Fields {
  state?: Partial<ReadonlyState>;
  last?: typeof replaced;
  endpoints?: readonly Endpoint[];
  brake?: CleanupOptions["brake"];
  uninstalling?: boolean;
  others?: readonly (typeof replaced)[];
  limits?: { perMinute: number; burst: number };
  joined?: boolean;
  /** The API server still has it. */
  stored?: boolean;
}

export const closedBrake = { mayGo: () => false, isExhausted: true, count: () => {}, sent: () => {}, leave: () => {} };

/** A Compute that is gone, what this process knew of it, and what the service has; its cleanup begins at once. */
export async function deletedCompute(fields: Fields = {}) {
  const { state = made, others = [], joined = true } = fields;
  const reach = new Reaching(fields.limits);
  const last = fields.stored === true ? reach.stored() : (fields.last ?? replaced);
  const { clock } = reach;
  await clock.advance(begun);
  for (const one of fields.endpoints ?? [madeBy(last)]) reach.endpoints.set(one.id, one);
  const claims = new ClaimIndex(
    () => "https://service.example.com/api/v2",
    () => false,
    () => undefined,
  );
  for (const other of others) claims.set(other);
  const brake = new DeletionBrake(clock, 60);
  const settled: string[] = [];
  const cleanup = new Cleanup({
    cluster: reach.cluster.client(),
    clock,
    connections: reach.registry,
    claims,
    event: reach.event,
    brake: fields.brake ?? brake,
    uninstalling: {
      now: () => Promise.resolve(fields.uninstalling === true),
      lately: () => Promise.resolve(fields.uninstalling === true),
    },
    createSettleMs: 60_000,
    signal: new AbortController().signal,
    onSettled: ({ metadata }) => settled.push(metadata.uid),
  });
  reach.reconcile = (one) => cleanup.reconcile(one);
  const session = joined ? await reach.join() : undefined;
  reach.service.requests.length = 0;
  cleanup.gone(last, new ReconcileState(clock.monotonic(), state));
  await clock.advance(1);
  reach.enqueue(last.metadata.uid);
  /** Expects that nothing is kept of it: no Compute is reconciled again for it, and nothing is listed. */
  const expectSettled = async () => {
    expect(settled).toEqual([last.metadata.uid]);
    expect(cleanup.all).toEqual([]);
    reach.sent();
    const delaysBefore = reach.delays.length;
    await clock.advance(600_000);
    expect(reach.sent()).toEqual([]);
    expect(reach.delays.slice(delaysBefore).filter((delay) => delay !== undefined)).toEqual([]);
    expect(settled).toEqual([last.metadata.uid]);
  };
  return { ...fields, reach, clock, cleanup, session, brake, settled, expectSettled };
}

export const deletedEvent = expect.stringMatching(/^Warning Deleted: .*ep-one/);
export const mayExist = expect.stringMatching(/^Warning Released: .*ep-one/);
