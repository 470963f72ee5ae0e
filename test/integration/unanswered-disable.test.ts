import { describe, expect, it } from "vitest";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const off = { ...place, disabled: true };

const isOff = (world: SmallWorld) => world.endpoint(world.compute(0).status.endpointID).disabled;

async function declared(world: SmallWorld, spec: Record<string, unknown>): Promise<void> {
  world.declare(0, spec);
  await world.clock.advance(2000);
  await world.settle(1);
}

/** Has every PATCH that disables get no reply; `release` carries out those that were sent. */
function holdUp(world: SmallWorld) {
  const heldUp: (() => void)[] = [];
  world.host.instead = ({ method, path, body }) => {
    if (method !== "PATCH" || !JSON.stringify(body).includes('"disabled":true')) return undefined;
    heldUp.push(() => world.console(method, path, body));
    throw new NoResponseError("ECONNRESET: the connection was cut");
  };
  const release = () => {
    for (const carryOut of heldUp) carryOut();
  };
  return { count: () => heldUp.length, release };
}

describe("a PATCH that disables, gets no reply and takes effect within --create-settle", () => {
  it.each<[string, number, number, (world: SmallWorld) => Promise<void> | void]>([
    ["after disabled was left out", 500, 1, () => {}],
    ["after disabled was left out, and several were sent", 5000, 3, () => {}],
    ["while another process leads", 500, 1, (world) => world.restart()],
    [
      "after somebody else disabled it",
      500,
      1,
      async (world) => {
        const { endpointID } = world.compute(0).status;
        world.console("PATCH", `/projects/shop/endpoints/${endpointID}`, { endpoint: { disabled: true } });
        await world.clock.advance(3000);
      },
    ],
    [
      "after another like it was refused",
      500,
      1,
      async (world) => {
        world.host.instead = ({ method }) =>
          method === "PATCH"
            ? { status: 422, headers: {}, body: JSON.stringify({ code: "", message: "no" }) }
            : undefined;
        await world.clock.advance(3000);
        expect(world.compute(0).status.conditions?.[0]?.reason).toBe("Rejected");
        world.host.instead = undefined;
      },
    ],
    [
      "after another like it was carried out",
      500,
      1,
      async (world) => {
        world.host.instead = undefined;
        await world.clock.advance(3000);
        expect(isOff(world)).toBe(true);
      },
    ],
  ])("a disabling PATCH without a reply is undone: %s", async (_, triedForMs, sent, meanwhile) => {
    await using world = new SmallWorld([place.branchID], 1);
    await declared(world, place);
    const { count, release } = holdUp(world);
    world.declare(0, off);
    await world.clock.advance(triedForMs);
    expect(count()).toBe(sent);
    await meanwhile(world);
    await declared(world, place);
    await world.clock.advance(40_000);
    expect([isOff(world), world.compute(0).status.disabledByUs]).toEqual([false, true]);
    release();
    expect(isOff(world)).toBe(true);
    await world.clock.advance(60_000);
    expect([isOff(world), world.compute(0).status.disabled]).toEqual([false, false]);
  });

  it("a disabling PATCH without a reply is awaited no longer than that: a person who disables the compute afterwards decides", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    await declared(world, place);
    holdUp(world);
    world.declare(0, off);
    await world.clock.advance(500);
    await declared(world, place);
    await world.clock.advance(110_000);
    const { status } = world.compute(0);
    expect([status.disabled, status.disabledByUs]).toEqual([false, undefined]);
    world.console("PATCH", `/projects/shop/endpoints/${status.endpointID}`, { endpoint: { disabled: true } });
    await world.clock.advance(120_000);
    expect([isOff(world), world.compute(0).status.disabled]).toEqual([true, true]);
  });
});
