import { expect, it } from "vitest";
import type { ClusterRequest } from "../../src/operator/cluster/transport.ts";
import { calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

const replica = { projectID: "shop", branchID: "br-0-a", type: "read_only" };

it("deletions that the brake holds back are told of once, however many wait for each other in one project", async () => {
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
  // That it waits for others, and then that the brake holds it.
  expect(patched.length).toBeLessThanOrEqual(16);
});
