import { describe, expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { storedKeySecret } from "./support/manifests.ts";
import { goodKey, project } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const branchID = "br-0-a";
const primary = { projectID: project, branchID };
const replica = { ...primary, type: "read_only" };
const create = `POST /projects/${project}/endpoints`;
const secrets = "/api/v1/namespaces/default/secrets";
const posts = (world: SmallWorld) => world.writes.filter((write) => write === create).length;

/** One Compute whose first create is lost on its way to the service, or on the way back. */
async function lost(spec: Record<string, unknown>, kind: "drop-before" | "drop-after", strictSpec = true) {
  const world = new SmallWorld([branchID], 1, { strictSpec });
  world.host.service.setFaults([{ kind, method: "POST", route: "*", count: 1 }]);
  world.declare(0, spec);
  await world.clock.advance(30_000);
  return world;
}

describe("where a service shows no names, a create without a reply", () => {
  it("of a primary is resolved by the one that has appeared on the branch, which is kept on deletion", async () => {
    await using world = await lost(primary, "drop-after");
    await world.settle(1);
    const [made] = world.endpoints;
    expect(world.compute(0).status.endpointID).toBe(made?.id);
    expect(world.events("Created")).toEqual([expect.stringContaining("kept when the Compute is deleted")]);
    world.edit(0, { disabled: true });
    await world.settle(1);
    await world.clock.advance(120_000);
    expect(world.compute(0).metadata.annotations).not.toHaveProperty("compute-operator.dev/pending-create");
    world.remove(0);
    await world.clock.advance(30_000);
    expect([world.isGone(0), world.endpoints.map(({ id }) => id)]).toEqual([true, [made?.id]]);
    expect(world.writes).toEqual([create, `PATCH /projects/${project}/endpoints/${made?.id}`]);
  });

  it("of a primary that does not appear is sent again: the service refuses a second", async () => {
    await using world = await lost(primary, "drop-before");
    await world.settle(1);
    expect([posts(world), world.endpoints.length]).toEqual([2, 1]);
  });

  it("of a replica waits for a person, who names the one that it made", async () => {
    await using world = await lost(replica, "drop-after");
    await world.clock.advance(3_600_000);
    const [made] = world.endpoints;
    expect(said(world.compute(0))).toContain(`Set spec.adopt.endpointID to the right one`);
    expect(said(world.compute(0))).toContain(`: ${made?.id}.`);
    expect(posts(world)).toBe(1);
    world.edit(0, { adopt: { endpointID: made?.id } });
    await world.settle(1);
    expect([posts(world), world.endpoints.length]).toEqual([1, 1]);
  });

  it("of a replica beside one that was made waits for a person also where nothing appears, who removes the mark", async () => {
    await using world = await lost(replica, "drop-after");
    world.annotate(0, "pending-create", undefined);
    world.host.service.setFaults([]);
    await world.settle(1);
    const before = posts(world);
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
    world.declare(1, replica);
    await world.clock.advance(3_600_000);
    expect([said(world.compute(1)).includes("this service shows no names"), posts(world)]).toEqual([true, before + 1]);
    world.annotate(1, "pending-create", undefined);
    await world.settle(2);
    expect(posts(world)).toBe(before + 2);
  });
});

describe("a create without a reply, and then another key", () => {
  const setKey = (world: SmallWorld, key: string) => {
    const { metadata } = world.send("GET", `${secrets}/service-api-key`);
    world.send("PUT", `${secrets}/service-api-key`, { ...storedKeySecret(key), metadata });
  };

  it.each(["read_write", "read_only"])(
    "of a %s waits as CreateUnknown, and goes on once the key is back",
    async (type) => {
      await using world = new SmallWorld([branchID], 1);
      world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*" }]);
      world.declare(0, { ...primary, type });
      for (let ms = 0; posts(world) === 0 && ms < 20_000; ms += 10) await world.clock.advance(10);
      setKey(world, "ana-key");
      const before = posts(world);
      world.host.service.setFaults([]);
      await world.clock.advance(1_200_000);
      expect(world.compute(0).status.conditions?.[0]).toMatchObject({
        reason: "CreateUnknown",
        message: expect.stringContaining("with another base URL or key"),
      });
      expect(posts(world)).toBe(before);
      setKey(world, goodKey);
      await world.settle(1);
      expect([posts(world), world.endpoints.length]).toEqual([before + 1, 1]);
    },
  );

  it("is found by its marker through the other key", async () => {
    await using world = new SmallWorld([branchID], 1);
    world.host.service.setFaults([{ kind: "drop-after", method: "POST", route: "*", count: 1 }]);
    world.declare(0, replica);
    for (let ms = 0; posts(world) === 0 && ms < 20_000; ms += 10) await world.clock.advance(10);
    setKey(world, "ana-key");
    await world.settle(1);
    expect([posts(world), world.endpoints.length]).toEqual([1, 1]);
  });
});

describe("a create without a reply, and an endpoint that a stranger makes on its branch", () => {
  const other = { projectID: project, branchID: "br-0-b" };
  /** A primary whose create never arrives, beside one that is gone again, and then the stranger's without a name. */
  async function beside(meanwhile: (world: SmallWorld, clear: () => void) => Promise<void>) {
    const world = new SmallWorld([branchID, other.branchID], 1);
    world.declare(0, { ...other, deletionPolicy: "Retain" });
    await world.settle(1);
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*" }]);
    world.declare(1, primary);
    for (let ms = 0; posts(world) < 2 && ms < 20_000; ms += 10) await world.clock.advance(10);
    const [first] = world.endpoints;
    const clear = () => {
      world.console("DELETE", `/projects/${project}/endpoints/${first?.id}`);
      world.console("POST", `/projects/${project}/endpoints`, {
        endpoint: { branch_id: branchID, type: "read_write" },
      });
    };
    world.host.service.setFaults([]);
    world.remove(0);
    await meanwhile(world, clear);
    await world.clock.advance(5000);
    return world;
  }

  it.each<[string, (world: SmallWorld, clear: () => void) => Promise<void>]>([
    ["by another process, which no answer has shown a name", (world, clear) => world.restart(clear)],
    ["by the same process", (_, clear) => Promise.resolve(clear())],
  ])("is not resolved %s, once the service was known to show names", async (_, meanwhile) => {
    await using world = await beside(meanwhile);
    expect(world.endpoints).toMatchObject([{ branch_id: branchID }]);
    expect(world.endpoints[0]?.name).toBeUndefined();
    expect(world.compute(1).status.conditions?.[0]?.reason).toBe("PrimaryExists");
    expect(world.compute(1).metadata.annotations).not.toHaveProperty("compute-operator.dev/endpoint-id");
  });
});
