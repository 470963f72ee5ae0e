import { expect, it } from "vitest";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

const replica = { projectID: "shop", branchID: "br-0-a", type: "read_only" };

it("deletions that the brake holds back are reported once, however many of them wait in one project", async () => {
  const patched: string[] = [];
  const counting = {
    ...calm,
    request: ({ method, path }: ClusterRequest) => {
      if (method === "PATCH" && path.endsWith("/status")) patched.push(path);
      return { kind: "answered" as const, arriveMs: 5, replyMs: 5 };
    },
  };
  await using world = new SmallWorld(["br-0-a"], 1, {}, counting, { maxDeletesPerMinute: 2 });
  for (let index = 0; index < 8; index++) world.declare(index, replica);
  await world.settle(8);
  patched.length = 0;
  for (let index = 0; index < 8; index++) world.remove(index);
  await world.clock.advance(50_000);
  expect(world.writes.filter((write) => write.startsWith("DELETE"))).toHaveLength(2);
  // Each that waits says so once, whether for another of its project or for the brake; the two that went say that too.
  expect(patched.length).toBeLessThanOrEqual(8 + 2 * 2);
  const waiting = [0, 1, 2, 3, 4, 5, 6, 7].filter((index) => !world.isGone(index));
  expect(waiting).toHaveLength(6);
  for (const index of waiting)
    expect(world.compute(index).status.conditions?.[0]?.message).toContain("--max-deletes-per-minute");
});

it("a leader that loses its lease and wins it again has not lost count of the deletions of that minute", async () => {
  const lease = { namespace: "default", name: "compute-operator", identity: "the-only-one" };
  await using world = new SmallWorld(["br-0-a"], 1, {}, calm, { lease, maxDeletesPerMinute: 2 });
  for (let index = 0; index < 5; index++) world.declare(index, replica);
  await world.settle(5);
  const deletions = () => world.writes.filter((write) => write.startsWith("DELETE")).length;
  for (let index = 0; index < 5; index++) world.remove(index);
  await world.clock.advance(5000);
  expect(deletions()).toBe(2);
  const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/compute-operator";
  const noop = (holderIdentity: string) => {
    const failedWrite = world.send("GET", path);
    world.send("PUT", path, { ...failedWrite, spec: { ...failedWrite.spec, holderIdentity } });
  };
  noop("another");
  await world.clock.advance(10_000);
  noop("");
  await world.clock.advance(20_000);
  expect(world.send("GET", path).spec.holderIdentity).toBe("the-only-one");
  expect(deletions()).toBe(2);
  await world.clock.advance(60_000);
  expect(deletions()).toBe(4);
});
