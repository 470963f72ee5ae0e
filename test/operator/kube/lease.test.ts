import { expect, test } from "vitest";
import { alwaysLeader, NotLeader, requireLeader } from "../../../src/operator/kube/leadership.ts";
import { leases } from "../../../src/operator/kube/lease-claim.ts";
import { configMap, configMaps } from "./config-maps.ts";
import { candidate, recordOf, second } from "./memory-candidate.ts";
import { MemoryCluster } from "./memory-cluster.ts";

test("a candidate takes a lease that does not exist, renews it every two seconds, and gives it back", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(60 * second);
  expect(a.election.mayWrite()).toBe(true);
  const record = await recordOf(cluster);
  expect(record).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0 });
  expect(record?.renewTime).toMatch(/^2026-01-01T00:00:5\d\.\d{6}Z$/);
  expect(record?.acquireTime).toMatch(/^2026-01-01T00:00:00\.\d{6}Z$/);

  a.stop.abort();
  await cluster.clock.advance(second);
  await a.ended;
  expect(a.election.mayWrite()).toBe(false);
  expect(await recordOf(cluster)).toMatchObject({ holderIdentity: "", leaseTransitions: 0 });
  expect(cluster.clock.pending).toBe(0);
});

test("a candidate that gave the lease back is followed within one retry of the next", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(second);
  const b = candidate(cluster, "b");
  await cluster.clock.advance(30 * second);
  expect(b.log).toEqual([]);
  a.stop.abort();
  const took = await cluster.clock.advanceUntil(() => b.election.mayWrite(), 60 * second);
  expect(took).toBeLessThan(2.5 * second);
  expect(await recordOf(cluster)).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
});

test("a candidate that is stopped gives the lease back, also in the middle of a renewal", async () => {
  const kept: number[] = [];
  // The renewals of two seconds, and every few milliseconds of them.
  for (let at = 0; at < 2100; at += 7) {
    const cluster = new MemoryCluster();
    const a = candidate(cluster, "a");
    await cluster.clock.advance(10 * second + at);
    a.stop.abort();
    await cluster.clock.advance(second);
    await a.ended;
    if ((await recordOf(cluster))?.holderIdentity !== "") kept.push(at);
  }
  expect(kept).toEqual([]);
});

test("a candidate keeps the lease while its work drains, and may write all the while", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a", { drainMs: 40 * second });
  const b = candidate(cluster, "b");
  await cluster.clock.advance(10 * second);
  a.stop.abort();
  await cluster.clock.advance(39 * second);
  expect(a.election.mayWrite()).toBe(true);
  expect(b.log).toEqual([]);
  await cluster.clock.advance(5 * second);
  expect(a.log).toEqual(["starts at 0", "stops at 50"]);
  expect(b.election.mayWrite()).toBe(true);
});

test("a candidate never takes a lease by what its record says of time: only by having seen it stand still", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(5 * second);
  // Of two machines whose clocks are an hour apart, the record always looks outdated.
  cluster.clock.stepWall(3_600_000);
  const b = candidate(cluster, "b");
  await cluster.clock.advance(120 * second);
  expect(b.log).toEqual([]);
  expect(a.election.mayWrite()).toBe(true);
});

test("a candidate goes on standing while the API server is away, and leads when it is back", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  a.reach.broken = true;
  await cluster.clock.advance(120 * second);
  expect(a.log).toEqual([]);
  // Each try fails after 0.1 s, and the next follows 2.2 s later.
  expect(a.reach.tries).toBeLessThan(56);
  a.reach.broken = false;
  await cluster.clock.advance(3 * second);
  expect(a.election.mayWrite()).toBe(true);
});

test("a leader that cannot renew stops writing ten seconds after its last renewal began, five before anybody else may start", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  const b = candidate(cluster, "b");
  await cluster.clock.advance(20 * second);
  a.reach.broken = true;
  const stopped = await cluster.clock.advanceUntil(() => !a.election.mayWrite(), 60 * second);
  expect(stopped).toBeGreaterThan(7 * second);
  expect(stopped).toBeLessThanOrEqual(10 * second);
  const gap = await cluster.clock.advanceUntil(() => b.election.mayWrite(), 60 * second);
  expect(gap).toBeGreaterThanOrEqual(5 * second);
  expect(gap).toBeLessThanOrEqual(8 * second);
  expect(a.log).toHaveLength(2);

  // And stands again, as a candidate like any other.
  a.reach.broken = false;
  b.stop.abort();
  await cluster.clock.advanceUntil(() => a.election.mayWrite(), 60 * second);
  expect(a.log).toHaveLength(3);
});

test.each([
  ["first claim", 0],
  ["last renewal", 30 * second],
])(
  "a leader that cannot renew stops writing ten seconds after its %s began, also where the reply to that was slow",
  async (_, ledMs) => {
    const cluster = new MemoryCluster();
    const a = candidate(cluster, "a");
    a.reach.replyMs = 2.5 * second;
    await cluster.clock.advanceUntil(() => a.election.mayWrite(), 10 * second);
    await cluster.clock.advance(ledMs);
    a.reach.broken = true;
    await cluster.clock.advanceUntil(() => !a.election.mayWrite(), 30 * second);
    const renewed = Date.parse((await recordOf(cluster))?.renewTime ?? "");
    const ledFor = cluster.clock.now() - renewed;
    expect(ledFor).toBeGreaterThan(9.8 * second);
    expect(ledFor).toBeLessThanOrEqual(10 * second);
  },
);

test("a leader creates its lease again when that was deleted, and stays leader", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(20 * second);
  await cluster.client().delete(leases, { namespace: "default", name: "compute-operator" });
  await cluster.clock.advance(20 * second);
  expect(a.election.mayWrite()).toBe(true);
  expect(a.log).toEqual(["starts at 0"]);
});

test("a leader whose process slept may not write when it wakes, though its monotonic clock stood still, until it has renewed", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(20 * second);
  cluster.clock.suspend(20 * second);
  expect(a.election.mayWrite()).toBe(false);
  await cluster.clock.advance(3 * second);
  expect(a.election.mayWrite()).toBe(true);
});

test("a leader whose process slept finds that another leads, and stops", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  const { mayWrite } = { mayWrite: () => a.election.mayWrite() };
  await cluster.clock.advance(20 * second);
  await cluster
    .client()
    .patch(leases, { namespace: "default", name: "compute-operator" }, [
      { op: "add", path: "/spec/holderIdentity", value: "b" },
    ]);
  cluster.clock.suspend(30 * second);
  expect(mayWrite()).toBe(false);
  await cluster.clock.advance(5 * second);
  expect(a.log).toEqual(["starts at 0", expect.stringMatching(/^stops at 2/)]);
  expect(mayWrite()).toBe(false);
});

test("a leader whose process slept starts over where another led meanwhile and gave the lease back: what it knows is from before that", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(20 * second);
  const was = await recordOf(cluster);
  await cluster
    .client()
    .patch(leases, { namespace: "default", name: "compute-operator" }, [
      { op: "add", path: "/spec", value: { ...was, holderIdentity: "", leaseTransitions: 1 } },
    ]);
  cluster.clock.suspend(300 * second);
  await cluster.clock.advance(10 * second);
  expect(a.log).toEqual(["starts at 0", expect.stringMatching(/^stops at/), expect.stringMatching(/^starts at/)]);
  expect(a.election.mayWrite()).toBe(true);
});

test("a leader whose wall clock was set back meanwhile may not write either", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(20 * second);
  cluster.clock.stepWall(-60 * second);
  expect(a.election.mayWrite()).toBe(false);
});

test("the check before each send lets nothing out while this process does not lead", async () => {
  const cluster = new MemoryCluster();
  const leadership = { leads: false, mayWrite: () => leadership.leads };
  const client = cluster.client({ beforeSend: requireLeader(leadership) });
  await expect(client.create(configMaps, configMap("default", "x"))).rejects.toThrow(NotLeader);
  expect(cluster.requests).toEqual([]);
  leadership.leads = true;
  await client.create(configMaps, configMap("default", "x"));
  leadership.leads = false;
  await expect(client.delete(configMaps, { namespace: "default", name: "x" })).rejects.toThrow(NotLeader);
  expect(await client.get(configMaps, { namespace: "default", name: "x" })).toBeDefined();
});

test("the check is always passed without a lease", async () => {
  const stop = new AbortController();
  const log: string[] = [];
  const ended = alwaysLeader.run({
    signal: stop.signal,
    onStarted: () => void log.push("started"),
  });
  expect(alwaysLeader.mayWrite()).toBe(true);
  stop.abort();
  await ended;
  expect(log).toEqual(["started"]);
});
