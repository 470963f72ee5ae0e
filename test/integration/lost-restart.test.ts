import { describe, expect, it } from "vitest";
import type { Fault } from "../../src/service/http/faults.ts";
import type { ServiceOptions } from "../../src/service/options.ts";
import { SmallWorld } from "./support/small-world.ts";
import type { Spec } from "./support/specs.ts";

const place = { projectID: "shop", branchID: "br-0-a" };

/** One Compute, as it stands some time after it was made, and a service at life's speed. */
async function standing(
  spec: Partial<Spec> = { scaleToZero: { enabled: false } },
  service: Partial<ServiceOptions> = {},
): Promise<SmallWorld> {
  const world = new SmallWorld([place.branchID], 1, { timeScale: 1, ...service });
  world.declare(0, { ...place, ...spec });
  await world.settle(1);
  await world.clock.advance(120_000);
  return world;
}

/** Asks for a restart and waits until the Compute says that it was carried out. */
async function restart(world: SmallWorld, value: string, fault?: Fault["kind"]): Promise<void> {
  const route = "/projects/{project_id}/endpoints/{endpoint_id}/restart";
  world.host.service.setFaults(fault === undefined ? [] : [{ method: "POST", route, kind: fault, count: 1 }]);
  world.annotate(0, "restartedAt", value);
  await world.clock.advance(120_000);
  expect(world.compute(0).status.restartedAt).toBe(value);
}

/** The service's answers to the operator's restarts; undefined: none was heard. */
function answers(world: SmallWorld): (number | undefined)[] {
  return world.host.calls.filter(({ path }) => path.endsWith("/restart")).map(({ status }) => status);
}

it("a restart of an idle compute whose reply was lost shows in its start, and is not sent again", async () => {
  await using world = await standing({ scaleToZero: { enabled: true, after: "60s" } });
  expect(world.endpoints[0]?.current_state).toBe("idle");
  await restart(world, "now", "drop-after");
  expect(answers(world)).toEqual([undefined]);
});

it("a value that was carried out before another, whose reply was lost, asks for a restart again", async () => {
  await using world = await standing();
  await restart(world, "one");
  await restart(world, "two", "drop-after");
  await restart(world, "one");
  expect(answers(world)).toEqual([200, undefined, 200]);
});

it("a restart whose reply was lost is not sent again while lists lag behind", async () => {
  await using world = await standing(undefined, { timeScale: 0.05 });
  const late = JSON.stringify(world.console("GET", "/projects/shop/endpoints"));
  const until = world.clock.monotonic() + 8000;
  world.host.instead = ({ path }) => {
    const lags = path.endsWith("/endpoints") && answers(world).length > 0 && world.clock.monotonic() < until;
    return lags ? { status: 200, headers: {}, body: late } : undefined;
  };
  await restart(world, "now", "drop-after");
  expect(answers(world)).toEqual([undefined]);
});

it("a restart that never arrived is sent once more after the settle time, and not before", async () => {
  await using world = await standing();
  const route = "/projects/{project_id}/endpoints/{endpoint_id}/restart";
  world.host.service.setFaults([{ method: "POST", route, kind: "drop-before", count: 1 }]);
  world.annotate(0, "restartedAt", "now");
  await world.clock.advance(68_000);
  expect([answers(world), world.compute(0).status.pendingWrite?.operation]).toEqual([[undefined], "restart"]);
  await world.clock.advance(60_000);
  expect([answers(world), world.compute(0).status.pendingWrite]).toEqual([[undefined, 200], undefined]);
});

describe("a restart that the service refuses", () => {
  const refusing = (world: SmallWorld) => {
    const body = JSON.stringify({ code: "", message: "no restart now" });
    world.host.instead = ({ path }) => (path.endsWith("/restart") ? { status: 400, headers: {}, body } : undefined);
  };

  it("counts as done where the compute is idle, also where the last list shows it running", async () => {
    await using world = await standing();
    world.console("POST", `/projects/shop/endpoints/${world.compute(0).status.endpointID}/suspend`);
    await world.clock.advance(2000);
    expect(world.endpoints[0]?.current_state).toBe("idle");
    refusing(world);
    await restart(world, "now");
    expect(answers(world)).toEqual([400]);
  });

  it("counts as done if the list shows it idle, at a service where single endpoints cannot be read", async () => {
    await using world = await standing({}, { strictSpec: true });
    await world.clock.advance(300_000);
    expect(world.compute(0).status.currentState).toBe("idle");
    refusing(world);
    await restart(world, "now");
    expect(answers(world)).toEqual([400]);
  });

  it("does not count as done where the compute runs, though the last list shows it idle", async () => {
    await using world = await standing({ scaleToZero: { enabled: true, after: "60s" } });
    expect(world.compute(0).status.currentState).toBe("idle");
    world.console("POST", `/projects/shop/endpoints/${world.compute(0).status.endpointID}/start`);
    await world.clock.advance(2000);
    refusing(world);
    world.annotate(0, "restartedAt", "now");
    await world.clock.advance(10_000);
    expect(world.compute(0).status.restartedAt).toBeUndefined();
    world.host.instead = undefined;
    await world.clock.advance(120_000);
    expect(world.compute(0).status.restartedAt).toBe("now");
    expect(answers(world)).toEqual([400, 200]);
  });
});
