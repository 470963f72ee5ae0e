import { describe, expect, it } from "vitest";
import { EndpointsAnswer } from "../../src/api/endpoint.ts";
import type { Compute } from "../../src/operator/resources/compute.ts";
import { storedKeySecret } from "./support/manifests.ts";
import type { Host } from "./support/network.ts";
import { goodKey, newService } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const api = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
const branchID = "br-0-a";
const replica = { projectID: "shop", branchID, type: "read_only" };
const primary = { projectID: "shop", branchID };

/** Another connection of the namespace, with the same key unless another Secret is named. */
function connect(world: SmallWorld, name: string, spec: Record<string, unknown> = {}): void {
  world.send("POST", `${api}/serviceconnections`, {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ServiceConnection",
    metadata: { name },
    spec: {
      baseURL: "http://other.test/api/v2",
      apiKeySecretRef: { name: "service-api-key" },
      requestBudget: { perMinute: 100_000, burst: 1000 },
      ...spec,
    },
  });
}

/** Reason and message of the condition Ready. */
function said({ status }: Compute): string {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return `${ready?.reason}: ${ready?.message}`;
}

const through = (name: string) => ({ connectionRef: { name } });

function endpointsOf({ service }: Host) {
  const headers = { authorization: `Bearer ${goodKey}` };
  const reply = service.call({ method: "GET", path: "/api/v2/projects/shop/endpoints", headers });
  return EndpointsAnswer.parse(JSON.parse(reply.body ?? "{}")).endpoints;
}

/** The other service, once a primary at each of the two is settled. */
async function settledAtBoth(world: SmallWorld): Promise<Host> {
  const other = world.services.connect("other.test", { branches: [branchID] });
  connect(world, "other");
  world.declare(0, primary);
  world.declare(1, { ...primary, ...through("other") });
  await world.settle(2);
  return other;
}

const posts = ({ calls }: Host) => calls.filter(({ method, path }) => method === "POST" && path.endsWith("/endpoints"));

it("two services have a primary each on a branch of the same id: neither is in the other's way", async () => {
  await using world = new SmallWorld([branchID], 1);
  const other = await settledAtBoth(world);
  expect([world.endpoints, endpointsOf(other)].map((list) => list.map(({ id }) => id))).toEqual([
    [world.compute(0).status.endpointID],
    [world.compute(1).status.endpointID],
  ]);
  // What is done to one reaches that one.
  world.edit(1, { computeUnits: { min: 2, max: 2 } });
  await world.settle(2);
  expect(world.writes).toHaveLength(1);
  world.remove(1);
  await world.clock.advance(60_000);
  expect([world.isGone(1), world.endpoints.length, endpointsOf(other)]).toEqual([true, 1, []]);
});

it("two services differ in showing names: what one shows settles no lost create at the other", async () => {
  await using world = new SmallWorld([branchID], 1);
  const service = newService({ branches: [branchID], clock: world.clock, service: { strictSpec: true } });
  const other = world.network.connect("other.test", service);
  connect(world, "other");
  world.declare(0, replica);
  await world.settle(1);
  service.setFaults([{ kind: "drop-after", method: "POST", route: "*", count: 1 }]);
  world.declare(1, { ...replica, ...through("other") });
  await world.clock.advance(3_600_000);
  expect(posts(other)).toHaveLength(1);
  expect(endpointsOf(other)).toHaveLength(1);
  expect(said(world.compute(1))).toMatch(/^CreateUnknown/);
});

it("two services are down one by one: the Computes of the other go on", async () => {
  await using world = new SmallWorld([branchID], 1);
  const other = await settledAtBoth(world);
  other.instead = () => ({ status: 502, headers: {}, body: "<h1>Bad gateway</h1>" });
  for (const index of [0, 1]) world.edit(index, { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(60_000);
  expect(said(world.compute(0))).toMatch(/^(Active|Idle)/);
  expect(said(world.compute(1))).toMatch(/^ServiceUnavailable/);
  other.instead = undefined;
  await world.settle(2);
});

describe("two connections with one base URL and key", () => {
  it("list a project once, and each serves the projects that it allows", async () => {
    await using world = new SmallWorld([branchID], 1);
    const baseURL = "http://service.test/api/v2";
    connect(world, "second", { baseURL });
    connect(world, "narrow", { baseURL, allowedProjects: ["another"] });
    world.declare(0, replica);
    world.declare(1, { ...replica, ...through("second") });
    world.declare(2, { ...replica, ...through("narrow") });
    await world.settle(2);
    await world.clock.advance(120_000);
    expect(said(world.compute(2))).toContain('ServiceConnection "narrow" does not allow project shop');
    expect(world.endpoints).toHaveLength(2);
    world.host.calls.length = 0;
    await world.clock.advance(300_000);
    expect(world.host.calls.filter(({ path }) => path === "/projects/shop/endpoints")).toHaveLength(10);
  });

  it("end one by one: the other goes on with the key", async () => {
    await using world = new SmallWorld([branchID], 1);
    connect(world, "second", { baseURL: "http://service.test/api/v2" });
    world.declare(0, { ...replica, ...through("second") });
    world.declare(1, replica);
    await world.settle(2);
    world.remove(0);
    await world.clock.advance(60_000);
    world.send("DELETE", `${api}/serviceconnections/second`);
    await world.clock.advance(60_000);
    world.edit(1, { computeUnits: { min: 2, max: 2 } });
    await world.clock.advance(10_000);
    expect(world.endpoint(world.compute(1).status.endpointID).autoscaling_limit_max_cu).toBe(2);
    expect(world.server.handle({ method: "GET", path: `${api}/serviceconnections/second` }).status).toBe(404);
  });

  it("differ once one of them has another key: what the service refuses to one, it still does for the other", async () => {
    await using world = new SmallWorld([branchID], 1);
    const secret = storedKeySecret("revoked");
    const metadata = { ...secret.metadata, name: "second-key" };
    world.send("POST", "/api/v1/namespaces/default/secrets", { ...secret, metadata });
    connect(world, "second", {
      baseURL: "http://service.test/api/v2",
      apiKeySecretRef: { name: "second-key" },
    });
    world.declare(0, { ...replica, ...through("second") });
    world.declare(1, replica);
    await world.clock.advance(120_000);
    expect(said(world.compute(0))).toMatch(/^Unauthorized/);
    expect(said(world.compute(1))).toMatch(/^(Active|Idle)/);
    expect(world.host.calls.filter(({ authorization }) => authorization.includes("revoked")).length).toBeLessThan(20);
  });
});

describe("messages with two of something name the right one", () => {
  it("a move onto a branch that another Compute has names that branch and that Compute", async () => {
    await using world = new SmallWorld([branchID, "br-1-a"], 1);
    world.declare(0, primary);
    world.declare(1, { ...primary, branchID: "br-1-a" });
    await world.settle(2);
    world.edit(0, { branchID: "br-1-a" });
    await world.clock.advance(60_000);
    expect(said(world.compute(0))).toMatch(/^Conflict: .*br-1-a/);
    expect(said(world.compute(0))).toContain("default/db-1");
    expect(said(world.compute(0))).not.toContain(branchID);
  });

  it("the event of a duplicate names the endpoint that goes, and the one that stays is kept", async () => {
    await using world = new SmallWorld([branchID], 1);
    world.declare(0, replica);
    await world.settle(1);
    const kept = world.compute(0).status.endpointID;
    const { name } = world.endpoint(kept);
    const { endpoint } = world.console("POST", "/projects/shop/endpoints", {
      endpoint: { branch_id: branchID, type: "read_only", name },
    });
    await world.clock.advance(300_000);
    expect(world.endpoints.map(({ id }) => id)).toEqual([kept]);
    expect(world.events("Deleted")).toEqual([expect.stringContaining(endpoint.id)]);
    expect(world.events("Deleted").join()).not.toContain(kept);
  });
});

describe("a list that comes between a create and its answer", () => {
  it.each([false, true])("leaves the endpoint what this create made (names hidden: %s)", async (strictSpec) => {
    await using world = new SmallWorld([branchID], 1, { strictSpec });
    world.declare(1, replica);
    await world.settle(1).catch(() => {});
    await world.clock.advance(120_000);
    const send = world.network.send.bind(world.network);
    let held = 0;
    world.network.send = async (request, options) => {
      const answer = await send(request, options);
      if (request.method === "POST" && request.path.endsWith("/endpoints")) {
        held += 1;
        world.annotate(1, "reconcileRequestedAt", "now");
        await new Promise<void>((resolve) => world.clock.after(3000, resolve));
      }
      return answer;
    };
    world.host.calls.length = 0;
    world.declare(0, replica);
    await world.clock.advance(90_000);
    // The list came before the answer did.
    const { calls } = world.host;
    const at = calls.findIndex(({ method }) => method === "POST");
    expect(calls.slice(at + 1).some(({ path }) => path === "/projects/shop/endpoints")).toBe(true);
    expect([held, world.endpoints.length]).toEqual([1, 2]);
    expect(
      world.events("Created").filter((text) => text.includes(String(world.compute(0).status.endpointID))),
    ).toHaveLength(1);
    expect(said(world.compute(0))).toMatch(/^(Active|Idle)/);
  });
});
