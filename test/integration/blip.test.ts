import { describe, expect, it } from "vitest";
import type { Compute } from "../../src/operator/resources/compute.ts";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import type { ServiceReply } from "../../src/service/http/message.ts";
import { isReady } from "../support/is-ready.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", type: "read_only", scaleToZero: { enabled: false } };
const fleet = 10;
const refreshMs = 30_000;
const connection = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";

const refusal = (status: number, headers: Record<string, string> = {}): ServiceReply => ({
  status,
  headers,
  body: JSON.stringify({ code: "", message: "no" }),
});

const silence = (): never => {
  throw new NoResponseError("ECONNREFUSED: connection refused");
};

/** A settled fleet, a moment before its next list. */
async function settled(): Promise<SmallWorld> {
  const world = new SmallWorld([place.branchID], 1);
  for (let one = 0; one < fleet; one++) world.declare(one, place);
  await world.settle(fleet);
  await world.clock.advance(120_000);
  const lists = () => world.host.calls.filter(({ path }) => path.endsWith("/endpoints")).length;
  for (const before = lists(); lists() === before; ) await world.clock.advance(50);
  await world.clock.advance(refreshMs - 100);
  return world;
}

const conditionsOf = ({ status }: Compute) =>
  Object.fromEntries((status.conditions ?? []).map((one) => [one.type, one.status]));
/** The versions of all Computes, and of the events about them. */
function versionsOf(world: SmallWorld): string[] {
  const { items }: { items: { kind: string; metadata: { name: string }; involvedObject: { kind: string } }[] } =
    world.send("GET", "/api/v1/namespaces/default/events");
  const others = items.filter(({ involvedObject }) => involvedObject.kind !== "Compute");
  return world.versions.filter((version) => !others.some(({ metadata }) => version.includes(metadata.name)));
}

const computesOf = (world: SmallWorld) => Array.from({ length: fleet }, (_, index) => world.compute(index));

describe("a blip changes nothing of any Compute, and raises no event", () => {
  it.each<[string, number, () => ServiceReply]>([
    ["500", 2000, () => refusal(500)],
    ["500", 5000, () => refusal(500)],
    ["500", 30_000, () => refusal(500)],
    ["500", 45_000, () => refusal(500)],
    ["no answer", 55_000, silence],
    ["503 of the service", 30_000, () => refusal(503)],
    ["a proxy's page", 30_000, () => ({ status: 502, headers: {}, body: "<html>" })],
    ["401", 1000, () => refusal(401)],
    ["401", 4000, () => refusal(401)],
    ["403", 2000, () => refusal(403)],
    ["404", 2000, () => refusal(404)],
    ["429 with Retry-After: 5", 1000, () => refusal(429, { "retry-after": "5" })],
    ["no answer", 2000, silence],
  ])("%s for %i ms at refresh time", async (_, ms, answer) => {
    await using world = await settled();
    const versions = versionsOf(world);
    world.host.instead = answer;
    await world.clock.advance(ms);
    world.host.instead = undefined;
    await world.clock.advance(300_000);
    expect(versionsOf(world)).toEqual(versions);
    expect(world.host.calls.at(-1)?.status).toBe(200);
  });

  it.each([500, 401])("%i for two seconds as the operator starts", async (status) => {
    await using world = await settled();
    const versions = versionsOf(world);
    await world.restart(() => {
      world.host.instead = () => refusal(status);
    });
    await world.clock.advance(2000);
    world.host.instead = undefined;
    await world.clock.advance(300_000);
    expect(versionsOf(world)).toEqual(versions);
  });

  it("500 while a Compute is being changed: it goes on, and says no more than that", async () => {
    await using world = await settled();
    world.edit(0, { computeUnits: { min: 2, max: 2 } });
    await world.clock.advance(100);
    world.host.instead = ({ method }) => (method === "GET" ? refusal(500) : undefined);
    await world.clock.advance(10_000);
    expect(world.compute(0).status.conditions?.[0]?.reason).toBe("Updating");
    world.host.instead = undefined;
    await world.settle(1);
    expect(world.events("ServiceUnavailable")).toEqual([]);
  });
});

describe("a service that is not seen for three refresh intervals", () => {
  it.each<[string, string, () => ServiceReply]>([
    ["500", "ServiceUnavailable", () => refusal(500)],
    ["429", "RateLimited", () => refusal(429, { "retry-after": "20" })],
    ["a pause of ten minutes that it asks for", "RateLimited", () => refusal(429, { "retry-after": "600" })],
  ])("(%s) leaves Synced Unknown and state and size as last seen, and is said once", async (_, reason, answer) => {
    await using world = await settled();
    const before = computesOf(world);
    world.host.instead = answer;
    await world.clock.advance(2 * refreshMs);
    expect(computesOf(world)).toEqual(before);
    await world.clock.advance(refreshMs + 200);
    for (const [index, compute] of computesOf(world).entries()) {
      expect(conditionsOf(compute)).toEqual({ Ready: "False", Synced: "Unknown", Reconciling: "True" });
      expect(compute.status.conditions?.[0]?.reason).toBe(reason);
      const { conditions: _now, ...status } = compute.status;
      const { conditions: _then, ...statusBefore } = before[index]?.status ?? {};
      expect(status).toEqual(statusBefore);
    }
    const versions = versionsOf(world);
    await world.clock.advance(3 * refreshMs);
    expect(versionsOf(world)).toEqual(versions);
    world.host.instead = undefined;
    await world.clock.advance(700_000);
    expect(computesOf(world).every(isReady)).toBe(true);
    expect(world.timesEmitted(reason)).toBe(fleet);
  });

  it("says so by the interval in force, also where the service never answers", async () => {
    await using world = await settled();
    const object = world.send("GET", connection);
    world.send("PUT", connection, { ...object, spec: { ...object.spec, refreshInterval: "5s" } });
    await world.clock.advance(6000);
    world.network.send = () => new Promise<never>(() => {});
    await world.clock.advance(9000);
    expect(computesOf(world).every(isReady)).toBe(true);
    await world.clock.advance(6500);
    expect(computesOf(world).map((one) => conditionsOf(one)["Synced"])).toEqual(Array(fleet).fill("Unknown"));
  });
});

it("a key that is refused twice, five seconds apart, is said to be refused, and sees nothing", async () => {
  await using world = await settled();
  world.host.instead = () => refusal(401);
  await world.clock.advance(6000);
  expect(computesOf(world).map((one) => one.status.conditions?.[0]?.reason)).toEqual(Array(fleet).fill("Unauthorized"));
  for (const compute of computesOf(world)) {
    expect(conditionsOf(compute)).toMatchObject({ Ready: "False", Synced: "Unknown" });
    expect(compute.status).toMatchObject({ state: "Active", size: "1 CU" });
  }
  expect(world.send("GET", connection).status.conditions[0].reason).toBe("Unauthorized");
  world.host.instead = undefined;
  await world.clock.advance(120_000);
  expect(computesOf(world).every(isReady)).toBe(true);
});

it("a Compute that is new says at once why nothing is seen", async () => {
  await using world = await settled();
  world.host.instead = () => refusal(500);
  await world.clock.advance(2000);
  world.declare(fleet, { ...place, computeUnits: { min: 1, max: 2 } });
  await world.clock.advance(5000);
  const { status } = world.compute(fleet);
  expect(status).toMatchObject({ state: "NotCreated", size: "1–2 CU" });
  expect(status.conditions?.map((one) => [one.type, one.status, one.reason])).toEqual([
    ["Ready", "False", "ServiceUnavailable"],
    ["Synced", "Unknown", "ServiceUnavailable"],
    ["Reconciling", "True", "ServiceUnavailable"],
  ]);
  world.host.instead = undefined;
  await world.settle(fleet + 1);
});

describe("a restart of the operator", () => {
  it("leaves a connection as it stands until the service has answered", async () => {
    await using world = await settled();
    const { resourceVersion } = world.send("GET", connection).metadata;
    await world.restart();
    await world.clock.advance(300_000);
    expect(world.send("GET", connection).metadata.resourceVersion).toBe(resourceVersion);
  });

  it("beside a service that does not answer is reported once the first probe has ended", async () => {
    await using world = await settled();
    const reasonNow = () => world.send("GET", connection).status.conditions[0].reason;
    await world.restart(() => {
      world.network.send = async (_, { timeoutMs }) => {
        await new Promise<void>((resolve) => void world.clock.after(timeoutMs, resolve));
        throw new NoResponseError("no answer in time");
      };
    });
    await world.clock.advance(5000);
    expect(reasonNow()).toBe("Authenticated");
    await world.clock.advance(20_000);
    expect(reasonNow()).toBe("Unreachable");
  });
});
