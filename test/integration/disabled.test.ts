import { describe, expect, it } from "vitest";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const off = { ...place, disabled: true };

/** What the operator sent of `disabled`, in order. */
const sent = (world: SmallWorld) =>
  world.host.calls.flatMap(({ method, body }) =>
    method === "GET" || !JSON.stringify(body ?? {}).includes('"disabled"')
      ? []
      : [`${method} ${String(/"disabled":(\w+)/.exec(JSON.stringify(body))?.[1])}`],
  );
const isOff = (world: SmallWorld) => world.endpoint(world.compute(0).status.endpointID).disabled;
const person = (world: SmallWorld, disabled: boolean) =>
  world.console("PATCH", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`, { endpoint: { disabled } });

/** The settle time and 10 s, and then a list of a refresh. */
const noteStaysMs = 110_000;

async function settled(world: SmallWorld): Promise<void> {
  await world.clock.advance(2000);
  await world.settle(1);
}

async function declared(world: SmallWorld, spec: Record<string, unknown>): Promise<void> {
  world.declare(0, spec);
  await settled(world);
}

/** How a Compute comes to be disabled by this operator. */
const ways: readonly [string, (world: SmallWorld) => Promise<void>][] = [
  [
    "by a PATCH",
    async (world) => {
      await declared(world, place);
      await declared(world, off);
    },
  ],
  ["as it was made", (world) => declared(world, off)],
  [
    "by a PATCH whose reply was lost",
    async (world) => {
      await declared(world, place);
      world.host.instead = ({ method, path, body }) => {
        if (method !== "PATCH") return undefined;
        world.host.instead = undefined;
        world.console(method, path, body);
        throw new NoResponseError("ECONNRESET: the connection was cut");
      };
      await declared(world, off);
    },
  ],
  [
    "by a PATCH after which the operator died",
    async (world) => {
      await declared(world, place);
      let died = false;
      world.host.instead = ({ method, path, body }) => {
        if (method === "PATCH" && !died) world.console(method, path, body);
        if (method === "PATCH") died = true;
        if (died) throw new NoResponseError("ECONNRESET: the connection was cut");
        return undefined;
      };
      world.declare(0, off);
      await world.clock.advance(1000);
      await world.restart(() => {
        world.host.instead = undefined;
      });
      await settled(world);
    },
  ],
  [
    "by a POST whose reply was lost",
    async (world) => {
      world.host.instead = ({ method, path, body }) => {
        if (method !== "POST") return undefined;
        world.host.instead = undefined;
        world.console(method, path, body);
        throw new NoResponseError("ECONNRESET: the connection was cut");
      };
      await declared(world, off);
    },
  ],
];

describe("a Compute that the operator disabled is enabled once disabled is left out", () => {
  it.each(ways)("%s", async (_, disable) => {
    await using world = new SmallWorld([place.branchID], 1);
    await disable(world);
    expect([isOff(world), world.compute(0).status.disabledByUs, world.compute(0).status.state]).toEqual([
      true,
      true,
      "Disabled",
    ]);
    const before = sent(world);
    await declared(world, place);
    // For as long as a request of ours may still take effect, this operator counts as the one who disabled it.
    expect([isOff(world), world.compute(0).status.disabledByUs]).toEqual([false, true]);
    await world.clock.advance(noteStaysMs);
    expect(world.compute(0).status.disabledByUs).toBeUndefined();
    expect(sent(world)).toEqual([...before, "PATCH false"]);
    expect(world.events("DriftCorrected")).toEqual([]);
    person(world, true);
    await world.clock.advance(300_000);
    expect([isOff(world), sent(world).length]).toEqual([true, before.length + 1]);
  });

  it.each(["Report", "Correct"])(
    "a Compute is enabled by another process, with driftPolicy %s",
    async (driftPolicy) => {
      await using world = new SmallWorld([place.branchID], 1);
      await declared(world, { ...place, driftPolicy });
      await declared(world, { ...off, driftPolicy });
      await world.restart();
      await declared(world, { ...place, driftPolicy });
      await world.clock.advance(noteStaysMs);
      expect([isOff(world), world.compute(0).status.disabledByUs]).toEqual([false, undefined]);
    },
  );

  it.each(["POST", "PATCH"])(
    "a Compute is enabled after a %s whose reply was lost, and that the spec did not ask for any more by then",
    async (which) => {
      await using world = new SmallWorld([place.branchID], 1);
      if (which === "PATCH") await declared(world, place);
      world.host.instead = ({ method, path, body }) => {
        if (method !== which) return undefined;
        world.host.instead = undefined;
        world.console(method, path, body);
        world.declare(0, place);
        throw new NoResponseError("ECONNRESET: the connection was cut");
      };
      world.declare(0, off);
      await world.clock.advance(5000);
      await world.clock.advance(90_000);
      await settled(world);
      await world.clock.advance(noteStaysMs);
      expect([isOff(world), world.compute(0).status.disabledByUs]).toEqual([false, undefined]);
    },
  );

  it.each([1000, 4000, 8000])("although lists lag behind the PATCH by up to %i ms", async (lagMs) => {
    await using world = new SmallWorld([place.branchID], 1);
    await declared(world, place);
    let enabledUntil = Number.POSITIVE_INFINITY;
    world.host.instead = ({ method, path, body }) => {
      if (method === "PATCH") enabledUntil = Math.min(enabledUntil, world.clock.monotonic() + lagMs);
      if (method !== "GET" || !path.endsWith("/endpoints") || world.clock.monotonic() > enabledUntil) return undefined;
      const shown = JSON.stringify(world.console(method, path, body)).replaceAll('"disabled":true', '"disabled":false');
      return { status: 200, headers: {}, body: shown };
    };
    world.declare(0, off);
    await world.clock.advance(500);
    expect(isOff(world)).toBe(true);
    world.declare(0, place);
    await world.clock.advance(60_000 + noteStaysMs);
    expect([isOff(world), world.compute(0).status.disabledByUs]).toEqual([false, undefined]);
    person(world, true);
    await world.clock.advance(120_000);
    expect(isOff(world)).toBe(true);
  });

  it("the note goes unused where the service refused to disable the Compute", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    await declared(world, place);
    world.host.instead = ({ method }) =>
      method === "PATCH" ? { status: 422, headers: {}, body: JSON.stringify({ code: "", message: "no" }) } : undefined;
    world.declare(0, off);
    await world.clock.advance(10_000);
    expect(world.compute(0).status.conditions?.[0]?.reason).toBe("Rejected");
    world.host.instead = undefined;
    world.declare(0, place);
    await world.clock.advance(noteStaysMs);
    expect([isOff(world), world.compute(0).status.disabledByUs, sent(world).includes("PATCH false")]).toEqual([
      false,
      undefined,
      false,
    ]);
  });

  it("a Compute is enabled once the pause is over, and says until then that it is not as declared", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    await declared(world, off);
    world.annotate(0, "paused", "true");
    world.declare(0, place);
    await world.clock.advance(60_000);
    expect(world.compute(0).status.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ["Ready", "True"],
      ["Synced", "False"],
    ]);
    expect(isOff(world)).toBe(true);
    world.annotate(0, "paused", undefined);
    await settled(world);
    expect(isOff(world)).toBe(false);
  });

  it("a Compute is enabled again with a back-off where the service refuses that", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    await declared(world, off);
    world.host.instead = ({ method }) =>
      method === "PATCH" ? { status: 422, headers: {}, body: JSON.stringify({ code: "", message: "no" }) } : undefined;
    world.declare(0, place);
    await world.clock.advance(10_000);
    expect(world.compute(0).status).toMatchObject({ disabledByUs: true, conditions: [{ reason: "Rejected" }, {}, {}] });
    world.host.instead = undefined;
    await world.clock.advance(300_000);
    expect(isOff(world)).toBe(false);
  });

  it("a Compute is enabled where the service shows no such field, with one PATCH for each generation", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    const hidden = ({ method, path, body }: { method: string; path: string; body?: unknown }) => {
      const shown = JSON.stringify(world.console(method, path, body)).replaceAll(/"disabled":(true|false),?/g, "");
      return { status: 200, headers: {}, body: shown };
    };
    world.host.instead = (call) => (call.path.includes("/endpoints") ? hidden(call) : undefined);
    await declared(world, off);
    await declared(world, place);
    await declared(world, { ...place, deletionPolicy: "Retain" });
    expect([isOff(world), sent(world)]).toEqual([false, ["POST true", "PATCH false", "PATCH false"]]);
  });
});

it("a Compute that was adopted disabled stays so, whatever the spec said of it since", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", {
    endpoint: { branch_id: place.branchID, type: "read_write", disabled: true, suspend_timeout_seconds: -1 },
  });
  await world.clock.advance(5000);
  const adopt = { endpointID: endpoint.id };
  await declared(world, { ...off, adopt });
  expect(world.compute(0).status.disabledByUs).toBeUndefined();
  await declared(world, { ...place, adopt });
  await world.clock.advance(120_000);
  expect([isOff(world), sent(world), world.compute(0).status.state]).toEqual([true, [], "Disabled"]);
});

it("a Compute stays disabled also where the spec came to ask for it later", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  await declared(world, place);
  person(world, true);
  await world.clock.advance(40_000);
  await declared(world, off);
  await declared(world, place);
  expect([isOff(world), sent(world)]).toEqual([true, []]);
});

it("a Compute stays disabled where it was enabled by a person in between", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  await declared(world, off);
  await world.restart(() => {
    person(world, false);
    world.declare(0, place);
  });
  await settled(world);
  await world.clock.advance(noteStaysMs);
  expect(world.compute(0).status.disabledByUs).toBeUndefined();
  person(world, true);
  await world.clock.advance(120_000);
  expect([isOff(world), sent(world)]).toEqual([true, ["POST true"]]);
});

it("a Compute stays disabled where the status was lost before disabled was left out: nothing tells who it was", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  await declared(world, off);
  await world.restart(() => {
    world.wipeStatus(0);
    world.declare(0, place);
  });
  await settled(world);
  expect([isOff(world), sent(world)]).toEqual([true, ["POST true"]]);
});

it("a status that is lost is made up for while the spec still asks for disabled, where this operator made the endpoint", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  await declared(world, off);
  world.wipeStatus(0);
  await settled(world);
  expect(world.compute(0).status.disabledByUs).toBe(true);
  await declared(world, place);
  expect(isOff(world)).toBe(false);
});
