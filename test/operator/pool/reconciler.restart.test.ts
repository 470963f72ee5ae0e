import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/operator/resources/names.ts";
import { pooled, root } from "./pooled.ts";

type World = ReturnType<typeof pooled>;

function patch(world: World, path: string, ops: object[]) {
  const contentType = "application/json-patch+json";
  world.cluster.server.handle({ method: "PATCH", path: `${root}/${path}`, body: ops, contentType });
}

const annotate = (world: World, object: string, restartedAt: string | undefined) =>
  patch(world, object, [
    { op: "add", path: "/metadata/annotations", value: restartedAt && { [annotations.restartedAt]: restartedAt } },
  ]);

/** The member's status as the operator writes it: ready, in step, and with this restart carried out. */
function report(world: World, index: number, fields: { restartedAt?: string; synced?: string; generation?: number }) {
  const { restartedAt, synced = "True", generation = 1 } = fields;
  const at = { reason: "Active", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const conditions = [
    { type: "Ready", status: "True", ...at },
    { type: "Synced", status: synced, ...at },
  ];
  const value = { observedGeneration: generation, conditions, ...(restartedAt && { restartedAt }) };
  patch(world, `computes/web-${index}/status`, [{ op: "replace", path: "/status", value }]);
}

const given = async (world: World) =>
  (await world.computes()).map(({ metadata }) => metadata.annotations?.[annotations.restartedAt]);

describe("restartedAt of a pool", () => {
  test("the pool's value is given to each member, and the status says when all have carried it out", async () => {
    const world = pooled(2);
    await world.reconcile();
    annotate(world, "computepools/web", "one");
    await world.reconcile();
    expect(await given(world)).toEqual(["one", "one"]);
    report(world, 0, { restartedAt: "one" });
    await world.reconcile();
    expect(world.pool().status).toMatchObject({ restartGiven: "one" });
    expect(world.pool().status.restartedAt).toBeUndefined();
    report(world, 1, { restartedAt: "one" });
    await world.reconcile();
    expect(world.pool().status.restartedAt).toBe("one");
  });

  test("a value that a person gives a member after the pool's stays, and the pool does not wait for it", async () => {
    const world = pooled(2);
    await world.reconcile();
    annotate(world, "computepools/web", "one");
    await world.reconcile();
    await world.reconcile();
    annotate(world, "computes/web-1", "own");
    report(world, 0, { restartedAt: "one" });
    await world.reconcile();
    expect(await given(world)).toEqual(["one", "own"]);
    expect(world.pool().status.restartedAt).toBe("one");
  });

  test("a member that is made later is made with the value, and asks for no restart by it", async () => {
    const world = pooled(1);
    await world.reconcile();
    annotate(world, "computepools/web", "one");
    world.scale(2);
    await world.reconcile();
    const [, made] = await world.computes();
    expect(made?.metadata.annotations?.[annotations.restartedAt]).toBe("one");
    expect(made?.status.observedGeneration ?? -1).toBe(-1);
  });

  test("the value that a pool is made with counts as given and as carried out", async () => {
    const world = pooled(0);
    annotate(world, "computepools/web", "one");
    await world.reconcile();
    expect(world.pool().status).toMatchObject({ restartGiven: "one", restartedAt: "one" });
    world.scale(1);
    await world.reconcile();
    annotate(world, "computes/web-0", "own");
    await world.reconcile();
    expect(await given(world)).toEqual(["own"]);
  });

  test("a value that is removed from the pool changes nothing, and the next one is given again", async () => {
    const world = pooled(1);
    await world.reconcile();
    annotate(world, "computepools/web", "one");
    await world.reconcile();
    await world.reconcile();
    patch(world, "computepools/web", [{ op: "remove", path: "/metadata/annotations" }]);
    await world.reconcile();
    expect(await given(world)).toEqual(["one"]);
    expect(world.pool().status.restartGiven).toBe("one");
    annotate(world, "computepools/web", "two");
    await world.reconcile();
    expect(await given(world)).toEqual(["two"]);
  });
});

describe("updatedReplicas of a pool", () => {
  test("a member counts once the service shows what its present spec says", async () => {
    const world = pooled(2);
    await world.reconcile();
    const updated = async () => {
      await world.reconcile();
      return world.pool().status.updatedReplicas;
    };
    expect(await updated()).toBe(0);
    report(world, 0, {});
    report(world, 1, { synced: "False" });
    expect(await updated()).toBe(1);
    report(world, 1, {});
    expect(await updated()).toBe(2);
    world.move("br-other");
    expect(await updated()).toBe(0);
    report(world, 0, { generation: 2 });
    expect(await updated()).toBe(1);
  });
});
