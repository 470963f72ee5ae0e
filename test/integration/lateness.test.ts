import { expect, it } from "vitest";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { calm } from "../simulation/api-server/faults.ts";
import { isReady } from "../support/is-ready.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const replica = { ...place, type: "read_only" };
const create = "POST /projects/shop/endpoints";

it.each([1, 5, 20, 50])(
  "a create that lands %i s later is the only one, however many lists lack it before",
  async (seconds) => {
    await using world = new SmallWorld([place.branchID], 1);
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
    world.declare(0, replica);
    await world.clock.advance(seconds * 1000);
    const [sent] = world.host.calls.filter(({ method }) => method === "POST");
    const lists = world.host.calls.filter(({ path }) => path.endsWith("/endpoints")).length;
    world.console("POST", "/projects/shop/endpoints", sent?.body);
    await world.clock.advance(300_000);
    await world.settle(1);
    expect(lists).toBeGreaterThan(1);
    expect(world.writes).toEqual([create]);
    expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
  },
);

it.each([1, 20, 50])(
  "a create that lands %i s after another operator has begun is the only one too",
  async (seconds) => {
    await using world = new SmallWorld([place.branchID], 1);
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
    world.declare(0, replica);
    await world.clock.advance(1000);
    const [sent] = world.host.calls.filter(({ method }) => method === "POST");
    await world.restart();
    await world.clock.advance(seconds * 1000);
    world.console("POST", "/projects/shop/endpoints", sent?.body);
    await world.clock.advance(300_000);
    await world.settle(1);
    expect(world.writes).toEqual([create]);
    expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
  },
);

it("a create that lands after --create-settle too, when another was made, is found by its name and deleted", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
  world.declare(0, replica);
  await world.clock.advance(5000);
  const [sent] = world.host.calls.filter(({ method }) => method === "POST");
  await world.clock.advance(150_000);
  await world.settle(1);
  const { endpointID } = world.compute(0).status;
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", sent?.body);
  await world.clock.advance(120_000);
  expect(world.writes).toEqual([create, create, `DELETE /projects/shop/endpoints/${endpoint.id}`]);
  expect(world.endpoints.map(({ id }) => id)).toEqual([endpointID]);
});

it("what a create that hangs somewhere makes goes with its Compute, though somebody has linked that to another endpoint", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", {
    endpoint: { branch_id: place.branchID, type: "read_only" },
  });
  world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
  world.declare(0, replica);
  await world.clock.advance(5000);
  const [sent] = world.host.calls.filter(({ method }) => method === "POST");
  world.annotate(0, "endpoint-id", endpoint.id);
  await world.clock.advance(3000);
  world.remove(0);
  await world.clock.advance(5000);
  world.console("POST", "/projects/shop/endpoints", sent?.body);
  await world.clock.advance(120_000);
  expect(world.isGone(0)).toBe(true);
  expect(world.endpoints.map(({ id }) => id)).toEqual([endpoint.id]);
});

it("a watch that is seconds behind our own writes makes nothing happen twice, and leaves no mark behind", async () => {
  const slow = {
    ...calm,
    line: (path: string) => ({ kind: "delivered" as const, delayMs: path.includes("/computes") ? 3000 : 0 }),
  };
  await using world = new SmallWorld([place.branchID, "br-0-b"], 1, {}, slow);
  world.declare(0, { ...place, computeUnits: { min: 1, max: 1 } });
  await world.settle(1);
  await world.clock.advance(30_000);
  world.edit(0, { computeUnits: { min: 2, max: 2 }, branchID: "br-0-b" });
  await world.clock.advance(30_000);
  await world.settle(1);
  world.annotate(0, "restartedAt", "now");
  await world.clock.advance(60_000);
  const at = `/projects/shop/endpoints/${world.compute(0).status.endpointID}`;
  expect(world.writes).toEqual([create, `PATCH ${at}`, `POST ${at}/restart`]);
  expect(["Created", "Moved", "Restarted"].map((reason) => world.timesEmitted(reason))).toEqual([1, 1, 1]);
  const { annotations } = world.compute(0).metadata;
  expect(Object.keys(annotations ?? {}).filter((name) => name.includes("pending"))).toEqual([]);
  expect(world.compute(0).status).toMatchObject({ restartedAt: "now", branchID: "br-0-b", size: "2 CU" });
});

it("a watch that is twenty seconds behind has nothing done twice: the answers to our own writes are known", async () => {
  const slow = {
    ...calm,
    line: (path: string) => ({ kind: "delivered" as const, delayMs: path.includes("/computes") ? 20_000 : 0 }),
  };
  // What such a service does not show is sent once per change of the spec.
  await using world = new SmallWorld([place.branchID], 1, { strictSpec: true }, slow);
  world.declare(0, { ...place, scaleToZero: { enabled: true, after: "5m" } });
  await world.clock.advance(120_000);
  world.edit(0, { scaleToZero: { enabled: true, after: "10m" } });
  await world.clock.advance(120_000);
  world.annotate(0, "restartedAt", "now");
  await world.clock.advance(120_000);
  const at = `/projects/shop/endpoints/${world.compute(0).status.endpointID}`;
  expect(world.writes).toEqual([create, `PATCH ${at}`, `POST ${at}/restart`]);
  expect(["Created", "Patched", "Restarted"].map((reason) => world.timesEmitted(reason))).toEqual([1, 1, 1]);
  world.remove(0);
  await world.clock.advance(120_000);
  expect(world.isGone(0)).toBe(true);
  expect(world.writes.slice(3)).toEqual([`DELETE ${at}`]);
});

it("an endpoint that lists do not show yet is not taken for one of another service, though its link was noted without an answer", async () => {
  let notes = 0;
  const weather = {
    ...calm,
    request: (request: ClusterRequest, timeoutMs: number) =>
      JSON.stringify(request.body ?? "").includes("endpoint-id") && notes++ === 0
        ? { kind: "lost" as const, arriveMs: 0, afterMs: 100 }
        : calm.request(request, timeoutMs),
  };
  await using world = new SmallWorld([place.branchID], 1, {}, weather);
  let lagsUntil: number | undefined;
  const empty = { status: 200, headers: {}, body: JSON.stringify({ endpoints: [] }) };
  world.host.instead = ({ method, path }) => {
    if (method === "POST") lagsUntil = world.clock.now() + 6000;
    const lags = lagsUntil !== undefined && world.clock.now() < lagsUntil;
    return lags && method === "GET" && path.endsWith("/endpoints") ? empty : undefined;
  };
  world.declare(0, place);
  await world.clock.advance(60_000);
  expect(isReady(world.compute(0))).toBe(true);
  expect(["MassLoss", "EndpointLost"].flatMap((reason) => world.events(reason))).toEqual([]);
  expect(world.writes).toEqual([create]);
});

it("if such a watch has not shown that the Compute is another shard's by now, an answer shows it: nothing more is sent", async () => {
  const slow = {
    ...calm,
    line: (path: string) => ({ kind: "delivered" as const, delayMs: path.includes("/computes") ? 60_000 : 0 }),
  };
  const settings = { selects: (labels: Readonly<Record<string, string>> = {}) => labels["shard"] !== "another" };
  await using world = new SmallWorld([place.branchID], 1, {}, slow, settings);
  world.declare(0, place);
  while (world.writes.length === 0) await world.clock.advance(1000);
  world.label(0, "shard", "another");
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(120_000);
  expect(world.writes).toEqual([create]);
});
