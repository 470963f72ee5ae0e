import { describe, expect, it } from "vitest";
import type { JsonObject } from "./api-server/objects.ts";
import { conditionOf } from "./world/computes.ts";
import { noFaults } from "./world/fault-plan.ts";
import { World } from "./world/world.ts";

const spec = (more: JsonObject = {}): JsonObject => ({
  projectID: "shiny-wind-000001",
  branchID: "br-one-1",
  scaleToZero: { enabled: false },
  ...more,
});

/** A world in fair weather with scripted actions; closed when it is over. */
async function inAWorld(play: (world: World) => Promise<void>): Promise<void> {
  const world = new World({ seed: 1, operators: 1, rates: noFaults });
  try {
    world.start();
    await world.runUntil(2000);
    await play(world);
  } finally {
    world.close();
  }
}

describe("a ComputePool", () => {
  it("creates its member as soon as another Compute of that name is gone", async () => {
    await inAWorld(async (world) => {
      world.workload.apply("web-0", spec({ type: "read_only" }));
      await world.runUntil(10_000);
      world.workload.scalePool("web", 1, spec());
      await world.runUntil(20_000);
      const ownedByOther = world.workload.compute("web-0")?.metadata.uid;
      world.workload.delete("web-0");
      await world.runUntil(60_000);
      const member = world.workload.compute("web-0");
      expect(member?.metadata.uid).not.toBe(ownedByOther);
      expect(member && conditionOf(member, "Ready")?.reason).toBe("Active");
      expect(world.promises.violations).toEqual([]);
    });
  });
});

describe("deleting the CRD", () => {
  it("lets a Compute go also where its deletion waits for a key that the service refuses, and deletes nothing", async () => {
    await inAWorld(async (world) => {
      world.workload.apply("c0", spec());
      await world.runUntil(10_000);
      const before = world.host.allEndpoints().length;
      world.host.revokeKeysBefore(undefined);
      await world.runUntil(60_000);
      world.server.handle({
        method: "DELETE",
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computes.compute-operator.dev",
      });
      await world.runUntil(90_000);
      expect(world.workload.compute("c0")).toBeUndefined();
      expect(world.host.allEndpoints()).toHaveLength(before);
    });
  });
});
