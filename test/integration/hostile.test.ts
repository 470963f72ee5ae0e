import { describe, expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const branch = { projectID: "shop", branchID: "br-0-a" };
const create = "POST /projects/shop/endpoints";
const secrets = "/api/v1/namespaces/default/secrets";
const api = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
const connections = `${api}/serviceconnections`;

const reply = (status: number, body: object) => ({ status, headers: {}, body: JSON.stringify(body) });
const refusal = (status: number, message: string) => reply(status, { code: "", message });
const reason = (world: SmallWorld, index: number) => world.compute(index).status.conditions?.[0]?.reason;
const person = reply(200, { account_id: "acc-other", auth_method: "api_key_user" });

/** Exchanges the key for another, of an account for which the service answers like this. */
function changeAccount(world: SmallWorld, answers: Record<string, ReturnType<typeof reply>>): void {
  world.host.instead = ({ method, path }) => answers[`${method} ${path}`] ?? refusal(404, "not found");
  const secret = world.send("GET", `${secrets}/service-api-key`);
  const data = { "api-key": Buffer.from("key-of-another-account").toString("base64") };
  world.send("PUT", `${secrets}/service-api-key`, { ...secret, data });
}

describe("a key that is exchanged for one of another account", () => {
  it("creates nothing again there, even if a fresh reconcile was requested earlier for another problem", async () => {
    await using world = new SmallWorld([branch.branchID], 1);
    world.declare(0, branch);
    await world.settle(1);
    world.host.instead = () => refusal(401, "supplied credentials do not pass authentication");
    await world.clock.advance(120_000);
    expect(reason(world, 0)).toBe("Unauthorized");
    world.annotate(0, "reconcileRequestedAt", "in trouble");
    await world.clock.advance(60_000);
    changeAccount(world, {
      "GET /auth": person,
      "GET /projects": reply(200, { projects: [] }),
      "GET /projects/shop/endpoints": reply(200, { endpoints: [] }),
    });
    await world.clock.advance(300_000);
    expect(reason(world, 0)).toBe("MassLoss");
    expect(world.writes).toEqual([create]);

    world.annotate(0, "reconcileRequestedAt", "again");
    await world.clock.advance(60_000);
    expect([reason(world, 0), world.writes]).toEqual(["MassLoss", [create]]);
    world.annotate(0, "confirmLoss", "it is true");
    await world.clock.advance(60_000);
    expect(world.writes[1]).toBe(create);
  });

  it("lets no Compute go as though its project were gone, whose endpoint was last seen through the one before", async () => {
    await using world = new SmallWorld([branch.branchID], 1);
    world.declare(0, branch);
    await world.settle(1);
    changeAccount(world, { "GET /auth": person, "GET /projects": reply(200, { projects: [{ id: "another" }] }) });
    await world.clock.advance(60_000);
    world.remove(0);
    await world.clock.advance(600_000);
    expect(world.isGone(0)).toBe(false);
    const { endpointID } = world.compute(0).status;
    expect(said(world.compute(0))).toMatch(`Deletion waits because endpoint ${endpointID} cannot be deleted yet:`);
    expect(said(world.compute(0))).toMatch(/not found.*Or set spec\.deletionPolicy to Retain/);

    world.edit(0, { deletionPolicy: "Retain" });
    await world.clock.advance(60_000);
    expect(world.isGone(0)).toBe(true);
    expect(world.writes).toEqual([create]);
  });
});

it("a service that answers 404 and still lists endpoint ep-one gets no DELETE in a loop, and delays no other deletion", async () => {
  await using world = new SmallWorld([branch.branchID, "br-1-a"], 1);
  world.declare(0, branch);
  world.declare(1, { ...branch, branchID: "br-1-a" });
  await world.settle(2);
  const stuck = world.compute(0).status.endpointID ?? "";
  world.host.instead = ({ method, path }) =>
    method === "DELETE" && path.endsWith(stuck) ? refusal(404, "endpoint not found") : undefined;
  world.remove(0);
  await world.clock.advance(120_000);
  expect(world.writes.filter((call) => call.endsWith(stuck)).length).toBeLessThan(4);
  expect(said(world.compute(0))).toMatch(/still lists endpoint ep-/);
  world.remove(1);
  await world.clock.advance(10_000);
  expect(world.isGone(1)).toBe(true);

  world.host.instead = undefined;
  await world.clock.advance(120_000);
  expect(world.isGone(0)).toBe(true);
  expect(world.endpoints).toEqual([]);
});

describe("a service that shows an operation as running for ever", () => {
  it("holds the other writes of the project back for ten minutes, and no longer", async () => {
    await using world = new SmallWorld([branch.branchID, "br-1-a"], 1);
    world.declare(0, branch);
    world.declare(1, { ...branch, branchID: "br-1-a" });
    await world.settle(2);
    const [first, second] = [0, 1].map((index) => world.compute(index).status.endpointID ?? "");
    const running = () => ({
      id: "op-x",
      endpoint_id: first,
      action: "apply_config",
      status: "running",
      updated_at: new Date(world.clock.now()).toISOString(),
    });
    world.host.instead = ({ method, path }) =>
      method === "GET" && path.endsWith("/operations") ? reply(200, { operations: [running()] }) : undefined;
    const answer = { endpoint: world.endpoint(first), operations: [running()] };
    const { instead } = world.host;
    world.host.instead = (call) =>
      call.method === "PATCH" && call.path.endsWith(first ?? "") ? reply(200, answer) : instead(call);
    world.edit(0, { passwordlessAccess: false });
    await world.clock.advance(5000);
    world.host.instead = instead;
    const { length } = world.writes;
    world.edit(1, { passwordlessAccess: false });
    await world.clock.advance(540_000);
    expect([world.writes.length, reason(world, 1)]).toEqual([length, "Updating"]);
    await world.clock.advance(60_000);
    expect(world.writes[length]).toBe(`PATCH /projects/shop/endpoints/${second}`);
    world.remove(0);
    await world.clock.advance(60_000);
    expect(world.isGone(0)).toBe(true);
  });
});

it("an endpoint that is listed no longer has its deletion wait, which says so and what to do", async () => {
  await using world = new SmallWorld([branch.branchID], 1);
  world.declare(0, branch);
  await world.settle(1);
  world.host.instead = ({ method, path }) =>
    method === "GET" && path.endsWith("/endpoints") ? reply(200, { endpoints: [] }) : undefined;
  await world.clock.advance(60_000);
  world.remove(0);
  await world.clock.advance(120_000);
  expect([world.isGone(0), reason(world, 0)]).toEqual([false, "Deleting"]);
  expect(said(world.compute(0))).toMatch(/does not list endpoint ep-.*or set spec\.deletionPolicy to Retain/);

  world.host.instead = undefined;
  await world.clock.advance(120_000);
  expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
});

describe("a tenant whose key does not reach a project", () => {
  it.each([
    ["shows it no such project", "ProjectNotFound", refusal(404, "project not found")],
    ["refuses its key", "Unauthorized", refusal(401, "supplied credentials do not pass authentication")],
    ["never hears of it, for it has none", "ConnectionNotReady", undefined],
    [
      "cannot be reached through its connection",
      "ServiceUnavailable",
      { status: 503, headers: {}, body: "a proxy's page" },
    ],
    ["is not asked through it, since it is paused", "Paused", refusal(401, "supplied credentials do not pass")],
  ])(
    "keeps nobody from its branches and endpoints, though it is older, where the service %s",
    async (_, reported, answer) => {
      await using world = new SmallWorld([branch.branchID], 1);
      const data = { "api-key": Buffer.from("mallory").toString("base64") };
      const secret = world.send("GET", `${secrets}/service-api-key`);
      if (answer !== undefined) world.send("POST", secrets, { ...secret, metadata: { name: "mallory" }, data });
      const { apiVersion, kind, spec } = world.send("GET", `${connections}/default`);
      const own = { ...spec, apiKeySecretRef: { name: "mallory" } };
      world.send("POST", connections, { apiVersion, kind, metadata: { name: "mallory" }, spec: own });
      world.host.instead = ({ authorization, path }) => {
        if (authorization !== "Bearer mallory") return undefined;
        if (reported === "ProjectNotFound" && path === "/auth") return person;
        return reported === "ProjectNotFound" && path === "/projects" ? reply(200, { projects: [] }) : answer;
      };
      world.declare(0, { ...branch, connectionRef: { name: "mallory" } });
      if (reported === "Paused") world.annotate(0, "paused", "true");
      await world.clock.advance(60_000);
      expect(reason(world, 0)).toBe(reported);
      world.declare(1, branch);
      await world.clock.advance(60_000);
      expect(world.compute(1).status.state).toMatch(/Active|Idle/);
    },
  );
});

it.each([10, 93])(
  "a refused key that the service repeats is shown nowhere, nor a part of it after %i words",
  async (words) => {
    await using world = new SmallWorld([branch.branchID], 1);
    world.host.instead = ({ authorization }) => refusal(401, `${"no ".repeat(words)}such key: ${authorization}`);
    world.declare(0, branch);
    await world.clock.advance(60_000);
    expect(reason(world, 0)).toBe("Unauthorized");
    const everything = ["computes", "serviceconnections"].map((kind) => world.send("GET", `${api}/${kind}`));
    const events = world.send("GET", "/api/v1/namespaces/default/events");
    expect(JSON.stringify([everything, events])).toContain("such key: Bearer");
    expect(JSON.stringify([everything, events])).not.toContain("Bearer org");
  },
);

describe("a service that answers a create with an endpoint that stood before", () => {
  it("does not have it taken for the Compute's own, and deleted with it", async () => {
    await using world = new SmallWorld([branch.branchID], 1);
    const replica = { branch_id: branch.branchID, type: "read_only", name: "somebodys" };
    const { endpoint } = world.console("POST", "/projects/shop/endpoints", { endpoint: replica });
    world.host.instead = ({ method }) => (method === "POST" ? reply(201, { endpoint, operations: [] }) : undefined);
    world.declare(0, { ...branch, type: "read_only" });
    await world.clock.advance(30_000);
    expect(reason(world, 0)).toBe("CreateUnknown");
    world.remove(0);
    await world.clock.advance(300_000);
    expect(world.isGone(0)).toBe(true);
    expect(world.endpoints.map(({ id }) => id)).toEqual([endpoint.id]);
  });
});
