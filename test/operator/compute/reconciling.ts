import { ClaimIndex } from "../../../src/operator/claims/claim-index.ts";
import { computeKindOf, type StepOptions } from "../../../src/operator/compute/kind.ts";
import { ComputeReconciler, type ComputeReconcilerOptions } from "../../../src/operator/compute/reconciler.ts";
import { parts } from "../../../src/operator/compute/steps.ts";
import { ConnectionSecrets } from "../../../src/operator/connection-secret/connection-secret.ts";
import { DeletionBrake } from "../../../src/operator/project/deletion-brake.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { secretCache } from "../../support/secret-cache.ts";
import { Reaching } from "./reaching.ts";

/** A Compute that the API server has, and its reconciler. */
export async function setUp(
  fields: Parameters<Reaching["stored"]>[0] = {},
  options: Partial<ComputeReconcilerOptions & StepOptions> = {},
) {
  const reach = new Reaching();
  const { clock, cluster } = reach;
  const { uid } = reach.stored(fields).metadata;
  const claims = new ClaimIndex({ serviceOf: () => "https://service.example.com/api/v2", isOutsider: () => false });
  const steps: string[] = [];
  const left: string[] = [];
  const brake = new DeletionBrake(clock, 60);
  /** What the cache has instead of what the API server has. */
  const cache: { seen?: Compute | undefined } = {};
  const asked: string[] = [];
  const made = () => {
    const stored = (one: string) =>
      "seen" in cache ? cache.seen : reach.computes().find((each) => each.metadata.uid === one);
    const { signal } = new AbortController();
    const shared = { cluster: cluster.client(), clock, event: reach.event };
    const secrets = new ConnectionSecrets({ ...shared, signal, cache: secretCache(() => []) });
    const kind = computeKindOf({
      ...shared,
      parts,
      signal,
      secrets,
      stored,
      isStopping: () => false,
      awaitsOwner: () => false,
      uninstalling: {
        now: (one) => {
          asked.push(one.metadata.uid);
          return Promise.resolve(false);
        },
        lately: () => Promise.resolve(false),
      },
      onStop: () => {},
      onStep: (action) => steps.push(action.kind),
      ...options,
    });
    return new ComputeReconciler({
      ...shared,
      kind,
      secrets,
      connections: reach.registry,
      claims,
      cache: { computeByUID: stored, branch: () => undefined, pool: () => undefined, membersOf: () => [] },
      selects: () => true,
      fleet: undefined,
      changeBlockedWorkers: () => {},
      brake: {
        mayGo: (caller) => brake.mayGo(caller),
        get isExhausted() {
          return brake.isExhausted;
        },
        count: (one) => brake.count(one),
        sent: (one) => brake.sent(one),
        leave: (one) => {
          left.push(one);
          brake.leave(one);
        },
      },
      createSettleMs: 60_000,
      term: "this-term",
      ...options,
    });
  };
  const reconciler = made();
  reach.reconcile = (one) => reconciler.reconcile(one);
  const restart = () => {
    const next = made();
    reach.reconcile = (one) => next.reconcile(one);
  };
  const session = await reach.join();
  await clock.advance(1000);
  reach.service.requests.length = 0;
  /** Has it reconciled, for so long. */
  const run = async (ms: number) => {
    reach.enqueue(uid);
    await clock.advance(ms);
  };
  const self = () => reach.computes().find(({ metadata }) => metadata.uid === uid);
  const shown = () => self()?.status.conditions?.find(({ type }) => type === "Ready")?.reason;
  return { reach, clock, uid, reconciler, session, run, self, shown, steps, left, cache, asked, restart };
}

/** As kubectl replace leaves it. */
export function replaced({ metadata, ...rest }: Compute): Compute {
  return { ...rest, metadata: { ...metadata, finalizers: [], annotations: {} } };
}
