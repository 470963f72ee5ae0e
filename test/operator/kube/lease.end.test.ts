import { describe, expect, test } from "vitest";
import { leases } from "../../../src/operator/kube/lease-claim.ts";
import { candidate, recordOf, second } from "./memory-candidate.ts";
import { MemoryCluster } from "./memory-cluster.ts";

describe("a leader whose lease somebody else has taken before its time", () => {
  test("may not write while its work drains, and leaves the lease to the other", async () => {
    const cluster = new MemoryCluster();
    const a = candidate(cluster, "a", { drainMs: 5 * second });
    await cluster.clock.advance(20 * second);
    await cluster
      .client()
      .patch(leases, { namespace: "default", name: "compute-operator" }, [
        { op: "add", path: "/spec/holderIdentity", value: "b" },
      ]);
    await cluster.clock.advance(3 * second);
    expect(a.election.mayWrite()).toBe(false);
    await cluster.clock.advance(6 * second);
    expect(await recordOf(cluster)).toMatchObject({ holderIdentity: "b" });
    expect(a.lines()).toEqual([
      expect.stringMatching(/^info leading/i),
      "warn No longer leading: another process holds the lease",
    ]);
  });
});

test("a candidate that is stopped has given the lease back by the time it has ended, and logs no failure", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(10 * second);
  let hasEnded = false;
  void (async () => {
    await a.ended;
    hasEnded = true;
  })();
  a.stop.abort();
  await cluster.clock.advanceUntil(() => hasEnded, 60 * second);
  expect(await recordOf(cluster)).toMatchObject({ holderIdentity: "" });
  expect(a.lines()).toEqual([expect.stringMatching(/^info leading/i), "info Released the lease"]);
});

test("a candidate that is stopped logs each failed renewal before, and its loss once", async () => {
  const cluster = new MemoryCluster();
  const a = candidate(cluster, "a");
  await cluster.clock.advance(10 * second);
  a.reach.broken = true;
  await cluster.clock.advanceUntil(() => !a.election.mayWrite(), 60 * second);
  await cluster.clock.advance(100);
  const [, ...lines] = a.lines();
  const lost = "warn No longer leading: the lease was not renewed in time";
  const failures = lines.slice(0, lines.indexOf(lost));
  expect(failures.length).toBeGreaterThan(2);
  expect(new Set(failures)).toEqual(new Set(["warn Cannot renew the lease: trying again"]));
  expect(lines.filter((line) => line === lost)).toHaveLength(1);
});
