import { ClaimIndex } from "../../../src/operator/compute/observe/claim-index.ts";
import { ComputeReconciler, type ComputeReconcilerOptions } from "../../../src/operator/compute/reconciler.ts";
import { DeletionBrake } from "../../../src/operator/connection/deletion-brake.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { Reaching } from "./reaching.ts";

/** A Compute that the API server has, and its reconciler. */
export async function setUp(
  fields: Parameters<Reaching["stored"]>[0] = {},
  options: Partial<ComputeReconcilerOptions> = {},
) {
  const reach = new Reaching();
  const { clock, cluster } = reach;
  const { uid } = reach.stored(fields).metadata;
  const claims = new ClaimIndex(
    () => "https://service.example.com/api/v2",
    () => false,
    () => undefined,
  );
  const steps: string[] = [];
  const left: string[] = [];
  const brake = new DeletionBrake(clock, 60);
  /** What the cache has instead of what the API server has. */
  const cache: { seen?: Compute | undefined } = {};
  const asked: string[] = [];
  const made = () =>
    new ComputeReconciler({
      cluster: cluster.client(),
      clock,
      connections: reach.registry,
      claims,
      cache: {
        computeByUID: (one) =>
          "seen" in cache ? cache.seen : reach.computes().find((each) => each.metadata.uid === one),
        branch: () => undefined,
        connectionSecrets: () => [],
      },
      isStopping: () => false,
      selects: () => true,
      awaitsPool: () => false,
      fleet: undefined,
      event: reach.event,
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
      uninstalling: {
        now: (one) => {
          asked.push(one.metadata.uid);
          return Promise.resolve(false);
        },
        lately: () => Promise.resolve(false),
      },
      createSettleMs: 60_000,
      signal: new AbortController().signal,
      term: "this-term",
      onStep: ({ kind }) => steps.push(kind),
      ...options,
    });
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
