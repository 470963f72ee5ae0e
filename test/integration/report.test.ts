import { describe, expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const reporting = { ...place, driftPolicy: "Report" };
const sized = (cu: number) => ({ computeUnits: { min: cu, max: cu } });
const reasonOf = (world: SmallWorld) => world.compute(0).status.conditions?.[0]?.reason;
const patches = (world: SmallWorld) => world.writes.filter((write) => write.startsWith("PATCH"));

/** Settled with Report, and then changed by somebody else. */
async function drifted(): Promise<SmallWorld> {
  const world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...reporting, ...sized(1) });
  await world.settle(1);
  world.console("PATCH", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`, {
    endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 },
  });
  await world.clock.advance(90_000);
  expect(reasonOf(world)).toBe("Drifted");
  return world;
}

describe("with driftPolicy Report, a wiped status", () => {
  it("a wiped status has nothing sent after a restart of the operator: the drift is reported again, and the next edit is carried out", async () => {
    await using world = await drifted();
    await world.restart(() => world.wipeStatus(0));
    await world.clock.advance(120_000);
    expect(reasonOf(world)).toBe("Drifted");
    expect(world.compute(0).status.drift).toMatchObject([
      { ours: "1", theirs: "4" },
      { ours: "1", theirs: "4" },
    ]);
    expect(patches(world)).toEqual([]);
    world.declare(0, { ...reporting, ...sized(2) });
    await world.settle(1);
    expect([world.compute(0).status.size, patches(world).length]).toEqual(["2 CU", 1]);
  });

  it("leaves an edit of the same moment to be carried out, and the drift alone, while the operator lives", async () => {
    await using world = await drifted();
    world.wipeStatus(0);
    world.declare(0, { ...reporting, ...sized(1), disabled: true });
    await world.settle(1);
    expect(world.endpoint(world.compute(0).status.endpointID)).toMatchObject({
      disabled: true,
      autoscaling_limit_max_cu: 4,
    });
    expect(world.host.calls.filter(({ method }) => method === "PATCH").map(({ body }) => body)).toEqual([
      { endpoint: { disabled: true } },
    ]);
  });
});

it("with driftPolicy Report an endpoint that is taken over is brought to the spec once, also by another operator", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  const body = { endpoint: { branch_id: place.branchID, type: "read_write" } };
  world.console("POST", "/projects/shop/endpoints", body);
  await world.clock.advance(10_000);
  world.host.service.setFaults([{ kind: "423", method: "PATCH", route: "*" }]);
  world.declare(0, { ...reporting, ...sized(2), adopt: { branchPrimary: true } });
  await world.clock.advance(20_000);
  await world.restart(() => world.host.service.setFaults([]));
  await world.settle(1);
  expect(world.compute(0).status).toMatchObject({ size: "2 CU", appliedGeneration: 1 });
  expect(reasonOf(world)).not.toBe("Drifted");
});

describe("with driftPolicy Report, an endpoint whose create got no reply, found by another operator", () => {
  async function found(meanwhile: (world: SmallWorld) => void): Promise<SmallWorld> {
    const world = new SmallWorld([place.branchID], 1);
    world.host.service.setFaults([{ kind: "drop-after", method: "POST", route: "*", count: 1 }]);
    world.declare(0, { ...reporting, ...sized(1) });
    await world.clock.advance(2000);
    expect(world.writes).toHaveLength(1);
    await world.restart(() => meanwhile(world));
    await world.clock.advance(120_000);
    return world;
  }

  it("an endpoint that another operator finds has an edit carried out that was made since", async () => {
    await using world = await found((at) => at.declare(0, { ...reporting, ...sized(2) }));
    expect(world.compute(0).status).toMatchObject({ size: "2 CU", appliedGeneration: 2 });
    expect(patches(world)).toHaveLength(1);
  });

  it("an endpoint that another operator finds has a change from outside reported, and nothing sent", async () => {
    await using world = await found((at) => {
      at.console("PATCH", `/projects/shop/endpoints/${at.endpoints[0]?.id}`, {
        endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 },
      });
    });
    expect([reasonOf(world), patches(world).length]).toEqual(["Drifted", 0]);
  });
});

it("with driftPolicy Report, drift is not taken for an edit because the Secret that was edited cannot be made", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...reporting, ...sized(1) });
  await world.settle(1);
  const refusal = { status: 404, headers: {}, body: JSON.stringify({ code: "", message: "role not found" }) };
  world.host.instead = ({ path }) => (path.includes("connection_uri") ? refusal : undefined);
  world.edit(0, { connectionSecret: { name: "shop-db", database: "neondb", role: "nobody" } });
  await world.clock.advance(30_000);
  expect(reasonOf(world)).toBe("Rejected");
  world.console("PATCH", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`, {
    endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 },
  });
  await world.clock.advance(120_000);
  expect(patches(world)).toEqual([]);
  expect(world.compute(0).status.drift).toHaveLength(2);
  world.edit(0, { connectionSecret: undefined });
  await world.clock.advance(30_000);
  expect([reasonOf(world), patches(world)]).toEqual(["Drifted", []]);
});
