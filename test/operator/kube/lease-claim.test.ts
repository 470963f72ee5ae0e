import { describe, expect, test } from "vitest";
import { LeaderElection } from "../../../src/operator/kube/lease.ts";
import { type Lease, LeaseClaim, type LeaseSpec, leases } from "../../../src/operator/kube/lease-claim.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const ref = { namespace: "default", name: "l" };
const never = new AbortController().signal;

function claimOn(cluster: MemoryCluster, identity: string): LeaseClaim {
  const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000 };
  return new LeaseClaim({ client: cluster.client(), clock: cluster.clock, ...ref, identity, ...times });
}

async function held(): Promise<{ cluster: MemoryCluster; claim: LeaseClaim }> {
  const cluster = new MemoryCluster();
  const claim = claimOn(cluster, "a");
  expect(await claim.attempt(never)).toBe(true);
  return { cluster, claim };
}

/** Somebody else's write. */
async function write(cluster: MemoryCluster, spec: LeaseSpec): Promise<void> {
  await cluster.client().patch(leases, ref, [{ op: "add", path: "/spec", value: spec }]);
}

async function specOf(cluster: MemoryCluster): Promise<Lease["spec"]> {
  return (await cluster.client().get(leases, ref))?.spec;
}

test.each([
  ["ahead", [9999, 1]],
  ["back", [-1000, -1]],
])("a claim ends to the millisecond on the wall clock, which is set %s", async (_, [last = 0, more = 0]) => {
  const { cluster, claim } = await held();
  cluster.clock.stepWall(last);
  expect(claim.isValid()).toBe(true);
  cluster.clock.stepWall(more);
  expect(claim.isValid()).toBe(false);
});

test("a claim ends to the millisecond on the monotonic clock, also where the wall clock was set back a little", async () => {
  const { cluster, claim } = await held();
  cluster.clock.stepWall(-1000);
  await cluster.clock.advance(9999);
  expect(claim.isValid()).toBe(true);
  await cluster.clock.advance(1);
  expect(claim.isValid()).toBe(false);
});

test("a claim that is dropped is valid for no time, and is not given back", async () => {
  const { cluster, claim } = await held();
  claim.drop();
  expect([claim.isHeld, claim.isValid(), claim.validForMs()]).toEqual([false, false, 0]);
  await claim.release();
  expect(await specOf(cluster)).toMatchObject({ holderIdentity: "a" });
});

test("a claim that is given back belongs to nobody at once; one that ran out before is left as it is", async () => {
  const { cluster, claim } = await held();
  await claim.release();
  expect([claim.isHeld, claim.freeInMs()]).toEqual([false, 0]);
  expect(await specOf(cluster)).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });

  const late = await held();
  await late.cluster.clock.advance(10_000);
  await late.claim.release();
  expect(await specOf(late.cluster)).toMatchObject({ holderIdentity: "a" });
});

test("a claim is renewed with one request", async () => {
  const { cluster, claim } = await held();
  cluster.requests.length = 0;
  await cluster.clock.advance(3000);
  expect(await claim.attempt(never)).toBe(true);
  expect(cluster.requests.map(({ method }) => method)).toEqual(["PATCH"]);
  expect(claim.validForMs()).toBe(10_000);
});

test("a claim is over where another holds the lease", async () => {
  const { cluster, claim } = await held();
  await write(cluster, { holderIdentity: "b", leaseDurationSeconds: 15 });
  expect(await claim.attempt(never)).toBe(false);
});

test("a claim holds on where its renewal is refused: the next one may succeed", async () => {
  const { cluster, claim } = await held();
  cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "status", afterMs: 0, status: 500 } : undefined);
  await expect(claim.attempt(never)).rejects.toThrow("500");
  expect([claim.isHeld, claim.isValid()]).toEqual([true, true]);
});

test.each(["GET", "POST", "PATCH"])("a try that is called off does not wait for the answer to its %s", async (slow) => {
  const { cluster, claim } = slow === "PATCH" ? await held() : { cluster: new MemoryCluster(), claim: undefined };
  const trying = claim ?? claimOn(cluster, "a");
  cluster.fate = ({ method }) => (method === slow ? { kind: "answered", arriveMs: 5, replyMs: 2000 } : undefined);
  const stop = new AbortController();
  let isOver = false;
  const ended = trying.attempt(stop.signal).catch(() => {
    isOver = true;
  });
  await cluster.clock.advance(100);
  stop.abort();
  await cluster.clock.advance(0);
  expect(isOver).toBe(true);
  await ended;
});

test("a try that is called off when its answer has just come gives no claim", async () => {
  const cluster = new MemoryCluster();
  const stop = new AbortController();
  const client = cluster.client({ onAnswer: () => stop.abort(new Error("over")) });
  const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000 };
  const claim = new LeaseClaim({ client, clock: cluster.clock, ...ref, identity: "a", ...times });
  await expect(claim.attempt(stop.signal)).rejects.toThrow("over");
  expect(claim.isHeld).toBe(false);
});

test("a try that is called off while its answer is on the way gives no claim", async () => {
  const cluster = new MemoryCluster();
  const claim = claimOn(cluster, "a");
  cluster.fate = () => ({ kind: "answered", arriveMs: 5, replyMs: 5 });
  const stop = new AbortController();
  const trying = claim.attempt(stop.signal).catch((error: unknown) => error);
  await cluster.clock.advance(7);
  stop.abort();
  await cluster.clock.advance(100);
  expect(await trying).not.toBe(true);
  expect(claim.isHeld).toBe(false);
});

describe("a lease that another holds", () => {
  async function watched(leaseDurationSeconds?: number) {
    const { cluster } = await held();
    await write(cluster, { holderIdentity: "b", leaseDurationSeconds });
    const claim = claimOn(cluster, "c");
    expect(claim.freeInMs()).toBe(0);
    expect(await claim.attempt(never)).toBe(false);
    return { cluster, claim };
  }

  test.each([
    [undefined, 15_000],
    [1, 15_000],
    [60, 60_000],
  ])("a lease for %j seconds is free when it stood unchanged for its duration and ours", async (seconds, freeIn) => {
    const { cluster, claim } = await watched(seconds);
    expect(claim.freeInMs()).toBe(freeIn);
    await cluster.clock.advance(freeIn - 1);
    expect([claim.freeInMs(), await claim.attempt(never)]).toEqual([1, false]);
    await cluster.clock.advance(1);
    expect([claim.freeInMs(), await claim.attempt(never)]).toEqual([0, true]);
    expect(await specOf(cluster)).toMatchObject({ holderIdentity: "c" });
  });

  test("stood unchanged no longer once it is renewed, or made again as it was", async () => {
    const { cluster, claim } = await watched();
    await cluster.clock.advance(10_000);
    await write(cluster, { ...(await specOf(cluster)), renewTime: "2026-01-01T00:00:09.000000Z" });
    expect([await claim.attempt(never), claim.freeInMs()]).toEqual([false, 15_000]);

    await cluster.clock.advance(10_000);
    const before = await cluster.client().get(leases, ref);
    await cluster.client().delete(leases, ref);
    await cluster.client().create(leases, { ...newOf(before?.spec) });
    expect([await claim.attempt(never), claim.freeInMs()]).toEqual([false, 15_000]);
  });

  test("a lease with a record that names nobody is free now", async () => {
    const { cluster } = await held();
    await write(cluster, { leaseDurationSeconds: 15 });
    const claim = claimOn(cluster, "c");
    expect(await claim.attempt(never)).toBe(true);
  });

  test("a lease long past its end is free now, and never in a negative time", async () => {
    const { cluster, claim } = await watched();
    await cluster.clock.advance(60_000);
    expect(claim.freeInMs()).toBe(0);
  });
});

function newOf(spec: Lease["spec"]) {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: ref, spec };
}

test("the second of two tries at once gets no claim, and says so without an error", async () => {
  const cluster = new MemoryCluster();
  const [a, b] = [claimOn(cluster, "a"), claimOn(cluster, "b")];
  cluster.fate = () => ({ kind: "answered", arriveMs: 5, replyMs: 5 });
  const both = Promise.all([a.attempt(never), b.attempt(never)]);
  await cluster.clock.advance(100);
  expect(await both).toEqual([true, false]);
  expect([a.isHeld, b.isHeld]).toEqual([true, false]);
});

test("two tries at once get no claim where the API server refuses", async () => {
  const cluster = new MemoryCluster();
  const claim = claimOn(cluster, "a");
  cluster.fate = ({ method }) => (method === "POST" ? { kind: "refused", afterMs: 1 } : undefined);
  const trying = claim.attempt(never).catch((error: unknown) => error);
  await cluster.clock.advance(10_000);
  expect(await trying).toBeInstanceOf(Error);
  expect(claim.isHeld).toBe(false);
});

describe("an election", () => {
  function electionOn(cluster: MemoryCluster, times: object = {}): LeaderElection {
    const ports = { client: cluster.client(), clock: cluster.clock, random: () => 0.5, log: silentLogger };
    return new LeaderElection({ ...ports, ...ref, identity: "a", ...times });
  }

  test.each([
    { leaseDurationMs: 10_000, renewDeadlineMs: 10_000 },
    { renewDeadlineMs: 4000, retryPeriodMs: 2000 },
    { retryPeriodMs: 0 },
  ])("refuses times with which two could lead: %j", (times) => {
    expect(() => electionOn(new MemoryCluster(), times)).toThrow("its duration must exceed the renew deadline");
  });

  test.each([
    { leaseDurationMs: 10_001, renewDeadlineMs: 10_000 },
    { renewDeadlineMs: 4001, retryPeriodMs: 2000 },
    { retryPeriodMs: 1 },
  ])("takes times that are just enough: %j", (times) => {
    expect(electionOn(new MemoryCluster(), times).mayWrite()).toBe(false);
  });

  test("reads another's lease every two seconds and a tenth, and the moment it falls free", async () => {
    const { cluster } = await held();
    await write(cluster, { holderIdentity: "b", leaseDurationSeconds: 15 });
    const reads: number[] = [];
    cluster.fate = ({ method }) => {
      if (method === "GET") reads.push(cluster.clock.monotonic());
      return undefined;
    };
    const stop = new AbortController();
    const ended = electionOn(cluster).run({ signal: stop.signal, onStarted: () => undefined });
    await cluster.clock.advance(20_000);
    stop.abort();
    await cluster.clock.advance(1000);
    await ended;
    expect(reads.slice(0, 8)).toEqual([0, 2200, 4400, 6600, 8800, 11_000, 13_200, 15_000]);
  });
});
