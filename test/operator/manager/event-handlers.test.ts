import { expect, test } from "vitest";
import { ClaimIndex } from "../../../src/operator/claims/claim-index.ts";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import type { ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { EventHandlers } from "../../../src/operator/manager/event-handlers.ts";
import { Informers } from "../../../src/operator/manager/informers.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { compute, uidOf } from "../../support/builders.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { branch } from "../branch/builders.ts";
import { noLines } from "../kube/reflector-world.ts";

const many = 1200;

function declared(index: number, branchID: string, resourceVersion = "1") {
  const object = compute({ name: `compute-${index}`, uid: uidOf(index), spec: { branchID } });
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** Informers that have listed these Computes, and take care of those that are not of shard `b`. */
async function watching(items: readonly Compute[], clock: VirtualClock, branches: readonly Branch[] = []) {
  const itemsOf = (path: string) => (path.endsWith("/computes") ? items : path.endsWith("/branches") ? branches : []);
  const transport: ClusterTransport = {
    request: async ({ path }) => ({
      status: 200,
      body: { metadata: { resourceVersion: "1" }, items: itemsOf(path) },
    }),
    watch: () => noLines,
  };
  const stop = new AbortController();
  const client = new ClusterClient(transport, { clock, timeoutMs: 1000, signal: stop.signal });
  const shared = { client, clock, random: () => 0.5, log: silentLogger, metrics: createMetrics() };
  const selects = (labels: Readonly<Record<string, string>> = {}) => labels["shard"] !== "b";
  const informers = new Informers({ ...shared, namespaces: [], selects });
  const running = informers.run(stop.signal);
  await clock.advance(100);
  return { informers, running, stop };
}

test("a new leader indexes a large fleet in several tasks, and keeps what changes in between", async () => {
  const clock = new VirtualClock();
  const items = Array.from({ length: many }, (_, index) => declared(index, `br-${index}`));
  const { informers, running, stop } = await watching(items, clock);
  const claims = new ClaimIndex({ serviceOf: () => "through", isOutsider: () => false });
  const enqueued = new Set<string>();
  let pauses = 0;
  const ignore = () => {};
  const handlers = new EventHandlers({
    informers,
    claims,
    computes: { gone: ignore, changed: ignore, entered: ignore, relisted: ignore },
    branches: { relisted: () => {} },
    connections: { seen: ignore, secretSeen: () => false, awaitsUser: () => true },
    enqueue: (_, uids) => [...uids].forEach((uid) => enqueued.add(uid)),
    pause: async () => {
      pauses += 1;
      // One that is indexed already, and one that is still to come.
      if (pauses > 1) return;
      for (const index of [0, 900]) informers.computes.answered(declared(index, `moved-${index}`, "2"), false);
    },
  });
  informers.subscribe(handlers);
  await handlers.everything(stop.signal);
  expect(pauses).toBe(2);
  expect(enqueued.size).toBe(many);
  const claimants = claims.claimantsOf(informers.computes.byUid(uidOf(1)) ?? declared(1, "br-1"));
  const on = (id: string) => claimants.onBranch(id).map(({ metadata }) => metadata.uid);
  expect([on("br-0"), on("moved-0"), on("br-900"), on("moved-900"), on("br-7")]).toEqual([
    [],
    [uidOf(0)],
    [],
    [uidOf(900)],
    [uidOf(7)],
  ]);
  enqueued.clear();
  handlers.computesRelisted();
  // The rest follows after a pause.
  expect(enqueued.size).toBe(499);
  await clock.advance(0);
  expect(enqueued.size).toBe(many);
  expect(pauses).toBe(4);
  stop.abort();
  await clock.advance(60_000);
  await running;
});

test("a Compute that came from another shard before this process led is no new one to it", async () => {
  const clock = new VirtualClock();
  const of = (shard: string, version: string) => {
    const object = declared(1, "br-1", version);
    return { ...object, metadata: { ...object.metadata, labels: { shard } } };
  };
  const { informers, running, stop } = await watching([of("b", "1"), declared(2, "br-2")], clock);
  informers.computes.answered(of("a", "2"), false);
  const arrivedAt = clock.monotonic();
  await clock.advance(1000);
  const arrivals: unknown[] = [];
  const ignore = () => {};
  const handlers = new EventHandlers({
    informers,
    claims: new ClaimIndex({ serviceOf: () => "through", isOutsider: () => false }),
    computes: { gone: ignore, changed: ignore, entered: (...one) => arrivals.push(one), relisted: ignore },
    branches: { relisted: () => {} },
    connections: { seen: ignore, secretSeen: () => false, awaitsUser: () => true },
    enqueue: ignore,
    pause: () => Promise.resolve(),
  });
  await handlers.everything(stop.signal);
  expect(arrivals).toEqual([[uidOf(1), arrivedAt]]);
  stop.abort();
  await clock.advance(60_000);
  await running;
});

test("a Compute that leaves a branch wakes the Branch that its move held back", async () => {
  const clock = new VirtualClock();
  const held = branch({ name: "pr-1", uid: uidOf("h"), linked: "br-1", deleting: true });
  const other = branch({ name: "pr-2", uid: uidOf("o"), linked: "br-2" });
  const { informers, running, stop } = await watching([], clock, [held, other]);
  const woken: string[] = [];
  const ignore = () => {};
  const handlers = new EventHandlers({
    informers,
    claims: new ClaimIndex({ serviceOf: () => "through", isOutsider: () => false }),
    computes: { gone: ignore, changed: ignore, entered: ignore, relisted: ignore },
    branches: { relisted: ignore },
    connections: { seen: ignore, secretSeen: () => false, awaitsUser: () => true },
    enqueue: (kind, uids) => kind === "branch" && woken.push(...uids),
    pause: () => Promise.resolve(),
  });
  const at = (branchID: string) => compute({ spec: { branchID: "br-3" }, status: { endpointID: "ep-one", branchID } });
  handlers.compute({ type: "updated", object: at("br-1"), previous: at("br-1") });
  expect(woken).toEqual([]);
  handlers.compute({ type: "updated", object: at("br-3"), previous: at("br-1") });
  expect(woken).toEqual([uidOf("h")]);
  stop.abort();
  await clock.advance(60_000);
  await running;
});
