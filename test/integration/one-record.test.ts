import { describe, expect, it } from "vitest";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import type { ServiceReply } from "../../src/service/http/message.ts";
import { calm } from "../simulation/api-server/faults.ts";
import type { Call } from "./support/network.ts";
import { SmallWorld } from "./support/small-world.ts";

// The record of a write, against what once made two endpoints, left one behind, or deleted a stranger's.

const place = { projectID: "shop", branchID: "br-0-a" };
const replica = { ...place, type: "read_only" };
const create = "POST /projects/shop/endpoints";

/** Lists as the project was some time ago; `note` is called after each change of the project. */
function lagging(world: SmallWorld) {
  const history: { at: number; body: string }[] = [];
  const lag = { ms: 0 };
  const note = () => history.push({ at: world.clock.now(), body: JSON.stringify({ endpoints: world.endpoints }) });
  note();
  world.host.instead = ({ method, path }) => {
    if (method !== "GET" || !path.endsWith("/endpoints") || lag.ms === 0) return undefined;
    const at = world.clock.now() - lag.ms;
    const body = history.findLast((one) => one.at <= at)?.body ?? JSON.stringify({ endpoints: [] });
    return { status: 200, headers: {}, body };
  };
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      await world.clock.advance(500);
      note();
    }
  };
  return { lag, note, pass };
}

/** Carries out the last create that got lost. */
function landLate(world: SmallWorld): void {
  const sent = world.host.calls.filter(({ method }) => method === "POST").at(-1);
  world.console("POST", "/projects/shop/endpoints", sent?.body);
}

it.each([
  [50, 0],
  [52, 9],
  [55, 8],
  [58, 8],
])("a create that lands %i s late is the only one, though lists are %i s old", async (seconds, lagS) => {
  await using world = new SmallWorld([place.branchID], 1);
  world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
  world.declare(0, replica);
  await world.clock.advance(1000);
  const { lag, note, pass } = lagging(world);
  lag.ms = lagS * 1000;
  await pass(seconds * 1000 - 1000);
  landLate(world);
  note();
  await pass(60_000);
  expect(world.writes).toEqual([create]);
  expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
});

it("a list that shows a dead endpoint does not settle the create in its place", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  const { lag, note, pass } = lagging(world);
  world.declare(0, replica);
  await pass(3000);
  world.console("DELETE", `/projects/shop/endpoints/${world.endpoints[0]?.id}`);
  note();
  world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
  for (let tries = 0; tries < 120 && world.writes.length < 2; tries++) await pass(500);
  lag.ms = 9500;
  await pass(3000);
  world.remove(0);
  await pass(3000);
  lag.ms = 0;
  await pass(15_000);
  expect(world.isGone(0)).toBe(false);
  landLate(world);
  note();
  await pass(180_000);
  expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
});

it.each(["read_only", "read_write"])(
  "a process dies with its POST on its way, and kubectl replace follows: the next process sends no other: %s",
  async (type) => {
    let isDead = false;
    const weather = {
      ...calm,
      request: (request: ClusterRequest, timeoutMs: number) =>
        isDead ? { kind: "refused" as const, afterMs: 1 } : calm.request(request, timeoutMs),
    };
    await using world = new SmallWorld([place.branchID], 1, {}, weather);
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
    world.host.instead = ({ method }) => {
      if (method === "POST" && world.writes.length <= 1) isDead = true;
      return undefined;
    };
    world.declare(0, { ...place, type });
    await world.clock.advance(100);
    await world.restart(() => {
      world.replace(0, { ...place, type });
      isDead = false;
    });
    await world.clock.advance(20_000);
    landLate(world);
    await world.settle(1);
    expect(world.writes).toEqual([create]);
    expect(world.endpoints).toHaveLength(1);
  },
);

describe("an annotation that a tenant types", () => {
  it("endpoint-id deletes nothing of another's, now or at the end of the Compute", async () => {
    await using world = new SmallWorld([place.branchID, "br-0-b"], 1);
    world.declare(0, place);
    const stranger = world.console("POST", "/projects/shop/endpoints", {
      endpoint: { branch_id: "br-0-b", type: "read_only" },
    }).endpoint;
    world.declare(1, { ...place, branchID: "br-0-b", type: "read_only" });
    await world.settle(2);
    const victims = [world.compute(0).status.endpointID ?? "", stranger.id];
    for (const victim of victims) {
      world.annotate(1, "endpoint-id", victim);
      await world.clock.advance(120_000);
    }
    world.remove(1);
    await world.clock.advance(240_000);
    const left = world.endpoints.map(({ id }) => id);
    expect(victims.filter((id) => !left.includes(id))).toEqual([]);
  });
});

/** The service's answers about endpoints without a member, to every method or to one. */
function without(world: SmallWorld, member: RegExp, ofMethod?: string): (call: Call) => ServiceReply | undefined {
  return ({ method, path, body }) => {
    if (!path.endsWith("/endpoints") || (ofMethod !== undefined && method !== ofMethod)) return undefined;
    const shown = JSON.stringify(world.console(method, path, body)).replaceAll(member, "");
    return { status: method === "POST" ? 201 : 200, headers: {}, body: shown };
  };
}

describe("a service whose lists lose the names", () => {
  const nameless = (world: SmallWorld) => {
    world.host.instead = without(world, /"name":"k8s-[^"]*",?/g, "GET");
  };

  it("deletes the endpoint with its Compute all the same", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, replica);
    await world.settle(1);
    nameless(world);
    world.annotate(0, "reconcileRequestedAt", "1");
    await world.clock.advance(2000);
    world.remove(0);
    await world.clock.advance(60_000);
    expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
  });

  it("makes no second replica in three minutes of them", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, replica);
    await world.settle(1);
    world.host.service.setFaults([{ kind: "drop-after", method: "POST", route: "*", count: 1 }]);
    nameless(world);
    world.declare(1, replica);
    await world.clock.advance(180_000);
    expect(world.endpoints).toHaveLength(2);
    world.host.instead = undefined;
    await world.settle(2);
    expect(world.endpoints).toHaveLength(2);
  });
});

it.each([
  ["with operations that end at once", {}, 10_000],
  ["with operations of half a minute", {}, 0.02],
  ["with a connection Secret", { connectionSecret: { name: "db-app" } }, 0.05],
  ["under driftPolicy Report", { driftPolicy: "Report", computeUnits: { min: 1, max: 2 } }, 0.05],
  ["with a field that the service does not show", { passwordlessAccess: true }, 0.05],
])(
  "a create %s, where names are shown and nothing is refused, costs at most four patches",
  async (_, more, timeScale) => {
    const patches: string[] = [];
    const weather = {
      ...calm,
      request: (request: ClusterRequest, timeoutMs: number) => {
        if (request.method === "PATCH" && request.path.includes("/computes/")) patches.push(request.path);
        return calm.request(request, timeoutMs);
      },
    };
    await using world = new SmallWorld([place.branchID], 1, { timeScale }, weather);
    if ("passwordlessAccess" in more) world.host.instead = without(world, /"passwordless_access":[a-z]+,?/g);
    world.declare(0, { ...place, ...more });
    await world.clock.advance(290_000);
    expect(world.compute(0).status).toMatchObject({
      endpointID: world.endpoints[0]?.id,
      state: expect.stringMatching(/Active|Idle/),
    });
    expect(patches.length).toBeLessThanOrEqual(4);
  },
);

it("every patch of a Compute tests its uid and its version", async () => {
  const bare: unknown[] = [];
  const weather = {
    ...calm,
    request: (request: ClusterRequest, timeoutMs: number) => {
      const isOfCompute = request.method === "PATCH" && request.path.includes("/computes/");
      const text = JSON.stringify(request.body ?? "");
      if (isOfCompute && !(text.includes('"/metadata/uid"') && text.includes('"/metadata/resourceVersion"')))
        bare.push(request.body);
      return calm.request(request, timeoutMs);
    },
  };
  await using world = new SmallWorld([place.branchID, "br-0-b"], 1, {}, weather);
  world.declare(0, place);
  await world.settle(1);
  world.declare(0, { ...place, branchID: "br-0-b", disabled: true });
  await world.settle(1);
  world.annotate(0, "restartedAt", "now");
  await world.clock.advance(60_000);
  world.remove(0);
  await world.clock.advance(60_000);
  expect([world.isGone(0), bare]).toEqual([true, []]);
});
