import { describe, expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { storedKeySecret } from "./support/manifests.ts";
import { project } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const branchID = "br-0-a";
const primary = { projectID: project, branchID };
const replica = { ...primary, type: "read_only" };
const create = `POST /projects/${project}/endpoints`;
const secrets = "/api/v1/namespaces/default/secrets";
const posts = (world: SmallWorld) => world.writes.filter((write) => write === create).length;

/** One Compute whose first create is lost on its way to the service, or on the way back, and the settle time over. */
async function lost(spec: Record<string, unknown>, kind: "drop-before" | "drop-after") {
  const world = new SmallWorld([branchID], 1, { strictSpec: true });
  world.host.service.setFaults([{ kind, method: "POST", route: "*", count: 1 }]);
  world.declare(0, spec);
  await world.clock.advance(120_000);
  return world;
}

describe.each([
  ["primary", primary],
  ["replica", replica],
])("where a service shows no names, a create of a %s without a reply", (_type, spec) => {
  it("a create without a reply is sent again after the settle time where nothing has appeared", async () => {
    await using world = await lost(spec, "drop-before");
    await world.settle(1);
    expect([posts(world), world.endpoints.length]).toEqual([2, 1]);
  });

  it("waits for a person where something has appeared, who names what it made", async () => {
    await using world = await lost(spec, "drop-after");
    await world.clock.advance(3_600_000);
    const [made] = world.endpoints;
    expect(said(world.compute(0))).toContain("Set spec.adopt.endpointID to the right one");
    expect(said(world.compute(0))).toContain(`(${made?.id}).`);
    expect(posts(world)).toBe(1);
    world.edit(0, { adopt: { endpointID: made?.id } });
    await world.settle(1);
    expect([posts(world), world.endpoints.length]).toEqual([1, 1]);
  });

  it("waits for a person where something has appeared, who says that it is not what it made", async () => {
    await using world = await lost(replica, "drop-before");
    await world.settle(1);
    world.console("POST", `/projects/${project}/endpoints`, { endpoint: { branch_id: branchID, type: "read_only" } });
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
    world.declare(1, replica);
    await world.clock.advance(1000);
    world.console("POST", `/projects/${project}/endpoints`, { endpoint: { branch_id: branchID, type: "read_only" } });
    await world.clock.advance(120_000);
    const before = posts(world);
    expect(world.compute(1).status.conditions?.[0]?.reason).toBe("CreateUnknown");
    world.annotate(1, "confirmLoss", "none");
    await world.settle(2);
    expect(posts(world)).toBe(before + 1);
  });
});

it("a primary that branchPrimary adopts ends the wait at a service without names", async () => {
  await using world = await lost({ ...primary, adopt: { branchPrimary: true } }, "drop-after");
  await world.settle(1);
  expect([posts(world), world.endpoints.length]).toEqual([1, 1]);
});

describe("a create without a reply, and then another key of the same service", () => {
  const setKey = (world: SmallWorld, key: string) => {
    const { metadata } = world.send("GET", `${secrets}/service-api-key`);
    world.send("PUT", `${secrets}/service-api-key`, { ...storedKeySecret(key), metadata });
  };

  it.each([
    ["is settled by the lists through it, which come from the same base URL", "drop-before", 2],
    ["is found by its signature through it", "drop-after", 1],
  ] as const)("%s", async (_, kind, sent) => {
    await using world = new SmallWorld([branchID], 1);
    world.host.service.setFaults([{ kind, method: "POST", route: "*", count: 1 }]);
    world.declare(0, replica);
    for (let ms = 0; posts(world) === 0 && ms < 20_000; ms += 10) await world.clock.advance(10);
    setKey(world, "ana-key");
    await world.settle(1);
    expect([posts(world), world.endpoints.length]).toEqual([sent, 1]);
  });
});
