import { describe, expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0" };
const observe = { managementPolicy: "Observe" } as const;
const create = "POST /projects/shop/endpoints";

/** A world with a primary that was there before the operator. */
function inherited(): SmallWorld {
  const world = new SmallWorld([place.branchID, "br-1"], 1);
  world.console("POST", create.slice(5), {
    endpoint: {
      branch_id: place.branchID,
      type: "read_write",
      autoscaling_limit_min_cu: 1,
      autoscaling_limit_max_cu: 1,
    },
  });
  return world;
}

/** A world with a Compute that the operator made. */
async function made(): Promise<SmallWorld> {
  const world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...place, computeUnits: { min: 1, max: 1 } });
  await world.settle(1);
  return world;
}

/** The id of the first endpoint. */
function firstID({ endpoints: [first] }: SmallWorld): string {
  return first?.id ?? "";
}

function told(world: SmallWorld, index = 0) {
  const { conditions = [] } = world.compute(index).status;
  return conditions.map(({ type, status, reason }) => [type, status, reason].join(" "));
}

const observed = (synced: string) => ["Ready True Observed", `Synced ${synced} Observed`];
const size = { computeUnits: { min: 2, max: 2 } };

describe("a Compute with managementPolicy: Observe", () => {
  it.each([
    ["by its id", (id: string) => ({ endpointID: id })],
    ["as the branch's primary", () => ({ branchPrimary: true as const })],
  ])(
    "shows what adopt names %s, with what Manage would change, and writes nothing to the service",
    async (_, adopt) => {
      await using world = inherited();
      const id = firstID(world);
      world.declare(0, { ...place, ...size, adopt: adopt(id), ...observe });
      await world.settle(1);
      expect(told(world)).toEqual(observed("False"));
      const { metadata, status } = world.compute(0);
      expect(status).toMatchObject({ endpointID: id, size: "1 CU", state: "Active" });
      expect(status.drift).toEqual([
        { field: "computeUnits.min", ours: "2", theirs: "1" },
        { field: "computeUnits.max", ours: "2", theirs: "1" },
      ]);
      expect([metadata.finalizers, metadata.annotations]).toEqual([undefined, undefined]);
      await world.clock.advance(600_000);
      world.console("PATCH", `/projects/shop/endpoints/${id}`, {
        endpoint: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 },
      });
      await world.clock.advance(60_000);
      expect([told(world), world.compute(0).status.drift]).toEqual([observed("True"), undefined]);
      expect(world.writes).toEqual([]);
    },
  );

  it("keeps what it made from others, gives its finalizer up and keeps its link, and its drift is not corrected", async () => {
    await using world = await made();
    const id = firstID(world);
    world.edit(0, observe);
    await world.clock.advance(2000);
    const { metadata, status } = world.compute(0);
    expect([metadata.finalizers ?? [], metadata.annotations]).toEqual([[], { "compute-operator.dev/endpoint-id": id }]);
    expect([told(world), status.deletionPolicy]).toEqual([observed("True"), "Retain"]);
    world.console("PATCH", `/projects/shop/endpoints/${id}`, { endpoint: { autoscaling_limit_max_cu: 4 } });
    world.declare(1, place);
    await world.clock.advance(60_000);
    expect(told(world)).toEqual(observed("False"));
    expect(told(world, 1)[0]).toBe("Ready False Conflict");
    expect(world.writes).toEqual([create]);
  });

  it("claims no branch: another Compute makes or adopts what this one only wants", async () => {
    await using world = inherited();
    const id = firstID(world);
    world.declare(0, { ...place, adopt: { endpointID: id }, ...observe });
    world.declare(1, { ...place, branchID: "br-1", adopt: { branchPrimary: true }, ...observe });
    await world.clock.advance(20_000);
    expect(told(world, 1)[0]).toBe("Ready False AdoptionRefused");
    world.declare(2, { ...place, adopt: { endpointID: id } });
    world.declare(3, { ...place, branchID: "br-1" });
    await world.settle(4);
    expect([0, 1, 2, 3].map((index) => world.compute(index).status.endpointID)).toEqual([
      id,
      world.compute(3).status.endpointID,
      id,
      expect.stringMatching(/^ep-/),
    ]);
    expect(world.writes).toEqual([create]);
  });

  it.each([
    ["nothing to adopt", {}, "Nothing is linked"],
    ["an id that is not there", { adopt: { endpointID: "ep-none" } }, "does not have endpoint ep-none"],
    ["another branch", { adopt: { endpointID: "*" }, branchID: "br-1" }, "is on branch br-0"],
    ["another type", { adopt: { endpointID: "*" }, type: "read_only" as const }, "is of type read_write"],
    ["a branch without a primary", { adopt: { branchPrimary: true as const }, branchID: "br-1" }, "has no primary"],
    ["a former one without a fleet", { adopt: { former: true as const } }, "without --fleet"],
  ])("refuses with %s, and creates nothing", async (_, { adopt, ...spec }: { adopt?: object }, says) => {
    await using world = inherited();
    const id = firstID(world);
    const named = adopt === undefined ? {} : { adopt: JSON.parse(JSON.stringify(adopt).replace('"*"', `"${id}"`)) };
    world.declare(0, { ...place, ...spec, ...named, ...observe });
    await world.clock.advance(200_000);
    const [ready] = world.compute(0).status.conditions ?? [];
    expect(ready).toMatchObject({ status: "False", reason: "AdoptionRefused", message: expect.stringContaining(says) });
    expect(world.compute(0).status.endpointID).toBeUndefined();
    expect(world.writes).toEqual([]);
  });

  it("shows what adopt names now, and nothing once that is proved gone", async () => {
    await using world = inherited();
    const id = firstID(world);
    await world.clock.advance(10_000);
    const other = world.console("POST", create.slice(5), { endpoint: { branch_id: "br-1", type: "read_write" } });
    world.declare(0, { ...place, ...size, adopt: { endpointID: id }, ...observe });
    await world.settle(1);
    world.declare(0, { ...place, branchID: "br-1", adopt: { branchPrimary: true }, ...observe });
    await world.settle(1);
    expect(world.compute(0).status).toMatchObject({ endpointID: other.endpoint.id, branchID: "br-1" });
    world.console("DELETE", `/projects/shop/endpoints/${other.endpoint.id}`);
    await world.clock.advance(5000);
    expect(told(world)).toEqual(observed("True"));
    await world.clock.advance(120_000);
    expect(told(world)[0]).toBe("Ready False AdoptionRefused");
    const { endpointID, host, drift, state } = world.compute(0).status;
    expect([endpointID, host, drift, state]).toEqual([undefined, undefined, undefined, "NotCreated"]);
    expect(world.writes).toEqual([]);
  });

  it("records each value of restartedAt as done, and restarts nothing, also once it is managed", async () => {
    await using world = await made();
    world.edit(0, observe);
    await world.clock.advance(2000);
    world.annotate(0, "restartedAt", "tonight");
    await world.clock.advance(60_000);
    expect(world.compute(0).status.restartedAt).toBe("tonight");
    world.edit(0, { managementPolicy: "Manage" });
    await world.clock.advance(120_000);
    expect(world.writes).toEqual([create]);
    expect(told(world)[0]).toBe("Ready True Idle");
  });

  it("a Compute that only observes is gone at once when it is deleted, and an event names what it made", async () => {
    await using world = await made();
    const id = firstID(world);
    world.edit(0, observe);
    await world.clock.advance(2000);
    world.remove(0);
    expect(world.isGone(0)).toBe(true);
    await world.clock.advance(60_000);
    expect(world.events("Released")).toEqual([expect.stringContaining(id)]);
    expect([world.writes, world.endpoints.map((one) => one.id)]).toEqual([[create], [id]]);
  });

  it("names nothing when it is deleted and had adopted what it shows", async () => {
    await using world = inherited();
    const id = firstID(world);
    world.declare(0, { ...place, adopt: { endpointID: id }, ...observe });
    await world.settle(1);
    world.remove(0);
    await world.clock.advance(60_000);
    expect([world.isGone(0), world.events("Released"), world.writes]).toEqual([true, [], []]);
  });

  it("keeps its finalizer while a create of before is open, and links what that made", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.host.service.setFaults([{ kind: "drop-after", method: "POST", route: "*", count: 1 }]);
    let lists = 0;
    world.host.instead = ({ method }) =>
      method === "GET" && world.writes.length > 0 && lists++ < 100 ? { status: 500, headers: {} } : undefined;
    world.declare(0, place);
    await world.clock.advance(2000);
    world.edit(0, observe);
    await world.clock.advance(10_000);
    expect(world.compute(0).metadata.finalizers).toEqual(["compute-operator.dev/endpoint"]);
    world.host.instead = undefined;
    await world.clock.advance(120_000);
    const { metadata, status } = world.compute(0);
    expect([metadata.finalizers ?? [], status.pendingWrite]).toEqual([[], undefined]);
    expect([told(world), status.endpointID]).toEqual([observed("True"), world.endpoints[0]?.id]);
    expect(world.writes).toEqual([create]);
  });

  it("warns with branch and signature if it is deleted while a create of before is open", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
    world.declare(0, place);
    await world.clock.advance(2000);
    const { uid } = world.compute(0).metadata;
    world.edit(0, observe);
    world.remove(0);
    await world.clock.advance(5000);
    expect([world.isGone(0), world.events("Released")]).toEqual([
      true,
      [expect.stringContaining(`delete endpoint k8s-${uid} on branch br-0`)],
    ]);
  });

  it.each([
    ["no mass loss: of those that count one in five", [0, 1, 2, 3, 4, 5], "Ready True Idle"],
    ["a mass loss of the others, though it is half of all", [5, 6, 7, 8, 9], "Ready False MassLoss"],
  ])("counts in no list of losses: %s", async (_, lost, shown) => {
    const branches = Array.from({ length: 10 }, (__, index) => `br-${index}`);
    await using world = new SmallWorld(branches, 1);
    for (const [index, branchID] of branches.entries()) world.declare(index, { ...place, branchID });
    await world.settle(10);
    for (const index of [0, 1, 2, 3, 4]) world.edit(index, observe);
    await world.clock.advance(5000);
    const ids = branches.map((__, index) => world.compute(index).status.endpointID);
    const before = world.writes.length;
    for (const index of lost) world.console("DELETE", `/projects/shop/endpoints/${ids[index]}`);
    await world.clock.advance(120_000);
    expect(told(world, 5)[0]).toBe(shown);
    expect(told(world, 4)[0]).toBe(lost.includes(4) ? "Ready False AdoptionRefused" : "Ready True Observed");
    expect(world.compute(4).status.state).toBe(lost.includes(4) ? "Lost" : "Idle");
    expect(world.writes.slice(before)).toEqual(shown.startsWith("Ready True") ? [create] : []);
  });
});

describe("a Compute that was observed, and is managed again", () => {
  it.each([
    ["an id", { endpointID: "*" }],
    ["the primary", { branchPrimary: true }],
  ])("adopts %s as one that begins now: event, proof, and one PATCH of all that differs", async (_, adopt) => {
    await using world = inherited();
    const id = firstID(world);
    const named = JSON.parse(JSON.stringify(adopt).replace("*", id));
    world.declare(0, { ...place, ...size, adopt: named, driftPolicy: "Report", ...observe });
    await world.settle(1);
    world.edit(0, { managementPolicy: "Manage" });
    await world.settle(1);
    expect(world.events("Adopted")).toEqual([expect.stringContaining(id)]);
    expect(world.compute(0).status).toMatchObject({ endpointID: id, proof: { by: "adopted" }, size: "2 CU" });
    expect(world.compute(0).status.managementPolicy).toBeUndefined();
    expect(world.writes).toEqual([`PATCH /projects/shop/endpoints/${id}`]);
    world.remove(0);
    await world.clock.advance(60_000);
    expect(world.endpoints.map((one) => one.id)).toEqual([id]);
  });

  it("creates its own where adopt is taken away with the policy", async () => {
    await using world = inherited();
    const id = firstID(world);
    world.declare(0, { ...place, adopt: { endpointID: id }, ...observe });
    await world.settle(1);
    world.declare(0, { ...place, branchID: "br-1" });
    await world.settle(1);
    expect(world.compute(0).status.endpointID).not.toBe(id);
    expect(world.writes).toEqual([create]);
  });

  it("takes over what a former Compute made, by its signature", async () => {
    await using world = new SmallWorld([place.branchID], 1, {}, undefined, { fleet: "production" });
    world.declare(0, { ...place, deletionPolicy: "Retain" });
    await world.settle(1);
    const { endpointID: id } = world.compute(0).status;
    world.remove(0);
    await world.clock.advance(10_000);
    world.declare(0, { ...place, adopt: { former: true }, ...observe });
    await world.settle(1);
    expect([told(world), world.compute(0).status.endpointID]).toEqual([observed("True"), id]);
    expect(world.writes).toEqual([create]);
    world.edit(0, { managementPolicy: "Manage" });
    await world.settle(1);
    await world.clock.advance(60_000);
    expect(world.endpoint(id).name).toContain(world.compute(0).metadata.uid.replaceAll("-", ""));
    expect(world.writes).toEqual([create, `PATCH /projects/shop/endpoints/${id}`]);
  });

  it("a Compute that made its endpoint has its finalizer again, corrects the drift, and deletes what it made", async () => {
    await using world = await made();
    const id = firstID(world);
    world.edit(0, observe);
    await world.clock.advance(2000);
    world.console("PATCH", `/projects/shop/endpoints/${id}`, {
      endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 },
    });
    await world.clock.advance(60_000);
    world.edit(0, { managementPolicy: "Manage" });
    await world.settle(1);
    expect(world.compute(0).metadata.finalizers).toEqual(["compute-operator.dev/endpoint"]);
    world.remove(0);
    await world.clock.advance(60_000);
    const path = `/projects/shop/endpoints/${id}`;
    expect([world.writes, world.endpoints]).toEqual([[create, `PATCH ${path}`, `DELETE ${path}`], []]);
  });
});
