import { describe, expect, it } from "vitest";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import type { ServiceReply } from "../../src/service/http/message.ts";
import { rules } from "../../src/service/rules.ts";
import { BranchWorld } from "./branch/branches.ts";
import type { Call } from "./support/network.ts";
import { memberKey } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

// What the public service enforces now, met by the operator: one clear condition, nothing doubled, no loop.

const place = { projectID: "shop", branchID: "br-0-a" };
const hour = 3_600_000;
const secrets = "/api/v1/namespaces/default/secrets";
const connections = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";

function under(more: ConstructorParameters<typeof SmallWorld>[2] = {}): SmallWorld {
  return new SmallWorld(["br-0-a", "br-0-b"], 1, { rules: rules.neon, ...more });
}

const ready = (world: SmallWorld, index = 0) => conditionOf(world.compute(index).status, "Ready");

/** Lets time pass until a Compute shows this reason. */
async function until(world: SmallWorld, reason: string, index = 0): Promise<string> {
  for (let waited = 0; ready(world, index)?.reason !== reason; waited += 500) {
    if (waited > 120_000) throw new Error(`db-${index} shows ${JSON.stringify(world.compute(index).status)}`);
    await world.clock.advance(500);
  }
  return ready(world, index)?.message ?? "";
}

describe("on the free plan, whose interval is fixed", () => {
  it.each([[{ enabled: true, after: "5m" }], [{ enabled: true }], [{ enabled: true, after: "300s" }], [undefined]])(
    "a Compute with scaleToZero %j is made and settles, also after an edit",
    async (scaleToZero) => {
      await using world = under({ plan: "free" });
      world.declare(0, { ...place, ...(scaleToZero && { scaleToZero }) });
      await world.settle(1);
      world.edit(0, { computeUnits: { min: 1, max: 2 } });
      await world.clock.advance(60_000);
      expect(ready(world)).toMatchObject({ status: "True" });
      expect(world.writes).toHaveLength(2);
    },
  );

  it("another interval is Rejected with what the plan allows, and not made in a loop", async () => {
    await using world = under({ plan: "free" });
    world.declare(0, { ...place, scaleToZero: { enabled: true, after: "10m" } });
    expect(await until(world, "Rejected")).toContain("fixed at 5 minutes");
    await world.clock.advance(2 * hour);
    expect(world.writes.length).toBeLessThan(10);
    expect(world.endpoints).toEqual([]);
  });
});

it("a range wider than 8 CU is Rejected with what to change, and made once it is narrower", async () => {
  await using world = under();
  world.declare(0, { ...place, computeUnits: { min: 0.5, max: 16 } });
  const message = await until(world, "Rejected");
  expect(message).toContain("raise the minimum or lower the maximum");
  expect(conditionOf(world.compute(0).status, "Stalled")?.status).toBe("True");
  await world.clock.advance(2 * hour);
  const refused = world.writes.length;
  expect(refused).toBeLessThan(10);
  world.edit(0, { computeUnits: { min: 8, max: 16 } });
  await world.settle(1);
  expect([world.writes.length, world.endpoints.length]).toEqual([refused + 1, 1]);
});

/** Has the connection use the key of a person, in an organization that it may name. */
function withPersonalKey(world: SmallWorld, organizationID?: string): void {
  const secret = world.send("GET", `${secrets}/service-api-key`);
  world.send("PUT", `${secrets}/service-api-key`, { ...secret, data: { "api-key": btoa(memberKey) } });
  const connection = world.send("GET", `${connections}/default`);
  const spec = { ...connection.spec, ...(organizationID !== undefined && { organizationID }) };
  world.send("PUT", `${connections}/default`, { ...connection, spec });
}

it("a personal key without spec.organizationID is accepted, and the connection says to name the organization", async () => {
  await using world = under();
  withPersonalKey(world);
  world.declare(0, place);
  await world.settle(1);
  const condition = () => conditionOf(world.send("GET", `${connections}/default`).status, "Ready");
  await world.clock.advance(20_000);
  expect(condition()).toMatchObject({ status: "True" });
  expect(condition()?.message).toContain("org_id is required");
  expect(condition()?.message).toContain("Name the organization in spec.organizationID.");
  withPersonalKey(world, "org-shop");
  await world.clock.advance(20_000);
  expect(condition()?.message).toBe("The service accepts the API key.");
});

function giveBob(world: SmallWorld, role: string): void {
  const path = "/_admin/organizations/org-shop/members/acc-bob";
  expect(world.host.service.call({ method: "PUT", path, body: JSON.stringify({ role }) }).status).toBe(200);
}

it("a viewer's key reads what exists and is Forbidden to write, with what to do, and asks seldom", async () => {
  await using world = under();
  giveBob(world, "viewer");
  withPersonalKey(world, "org-shop");
  world.declare(0, place);
  const message = await until(world, "Forbidden");
  expect(message).toContain("Give it the right, or use a connection with another key");
  await world.clock.advance(hour);
  const refused = world.writes.length;
  expect(refused).toBeLessThan(25);
  giveBob(world, "editor");
  await world.settle(1);
  expect([world.writes.length, world.endpoints.length]).toEqual([refused + 1, 1]);
});

describe("a Branch", () => {
  const neon = (plan: "free" | "scale") => new BranchWorld({ service: { rules: rules.neon, plan } });

  it("a Branch beyond the plan's root branches is Rejected with the limit, asks seldom, and is made when there is room", async () => {
    await using world = neon("free");
    const root = async (name: string) => {
      const made = world.madeElsewhere(name, { init_source: "schema-only" });
      await world.clock.advance(2000);
      return made.id;
    };
    const [other] = [await root("root-1"), await root("root-2")];
    world.branch("pr-1", { parent: { branchName: "br-main", schemaOnly: true } });
    await world.until("pr-1", "Rejected");
    expect(world.ready("pr-1")?.message).toContain("at most 3 root branches");
    await world.clock.advance(2 * hour);
    const refused = world.writes.length;
    expect(refused).toBeLessThan(10);
    world.console("DELETE", `/projects/shop/branches/${other}`);
    await world.until("pr-1", "Available", 60_000);
    expect(world.writes).toHaveLength(refused + 1);
  });

  it("a Branch protected on a plan without protection is Rejected, and made once the spec leaves that out", async () => {
    await using world = neon("free");
    world.branch("pr-1", { protected: true, expiry: { never: true } });
    await world.until("pr-1", "Rejected");
    expect(world.ready("pr-1")?.message).toContain("no protected branches");
    await world.clock.advance(2 * hour);
    const refused = world.writes.length;
    expect(refused).toBeLessThan(10);
    world.branch("pr-1", { expiry: { never: true } });
    await world.until("pr-1", "Available");
    expect([world.writes.length, world.made.length]).toEqual([refused + 1, 1]);
  });

  it("a Branch whose Compute is refused stays, shows its own state, and is not made twice", async () => {
    await using world = neon("scale");
    world.branch("pr-1", { compute: { computeUnits: { min: 0.5, max: 16 } } });
    await world.until("pr-1", "Available");
    await world.clock.advance(hour);
    const compute = world.send("GET", "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/pr-1");
    expect(conditionOf(compute.status, "Ready")).toMatchObject({ reason: "Rejected", status: "False" });
    expect([world.reason("pr-1"), world.made.length, world.endpoints.length]).toEqual(["Available", 1, 0]);
    world.branch("pr-1", { compute: { computeUnits: { min: 0.5, max: 2 } } });
    await world.clock.advance(30_000);
    expect([world.made.length, world.endpoints.length]).toEqual([1, 1]);
  });
});

/** Has the service take these attributes and keep none of them, or show none of them either. */
function dropping(world: SmallWorld, attributes: readonly string[], shows: "other" | "nothing"): void {
  const without = (fields: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !attributes.includes(name)));
  world.host.instead = ({ method, path, body, authorization }: Call): ServiceReply | undefined => {
    if (!path.includes("/endpoints")) return undefined;
    const { endpoint } = Object(body);
    const kept = endpoint === undefined ? body : { endpoint: method === "PATCH" ? without(endpoint) : endpoint };
    const sent = method === "POST" && endpoint !== undefined ? created(endpoint) : kept;
    const reply = world.host.service.call({
      method,
      path: `/api/v2${path}`,
      headers: { authorization },
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
    });
    if (shows === "other" || reply.body === undefined) return reply;
    return { ...reply, body: JSON.stringify(hide(JSON.parse(reply.body))) };
  };
  const created = (endpoint: Record<string, unknown>) => ({
    endpoint: { ...without(endpoint), branch_id: endpoint["branch_id"] },
  });
  const hide = (value: { endpoint?: Record<string, unknown>; endpoints?: Record<string, unknown>[] }) => ({
    ...value,
    ...(value.endpoint && { endpoint: without(value.endpoint) }),
    ...(value.endpoints && { endpoints: value.endpoints.map(without) }),
  });
}

const pooler = ["pooler_enabled", "pooler_mode"];

describe("a deprecated field that the service does not keep", () => {
  it("a field that another value is shown for is Drifted, sent once for each generation, and not again by another leader", async () => {
    await using world = under();
    dropping(world, pooler, "other");
    world.declare(0, { ...place, pooler: { enabled: true, mode: "session" } });
    const message = await until(world, "Drifted");
    expect(message).toContain("pooler.enabled (ours true, theirs false)");
    expect(message).toContain("Remove it from the spec.");
    expect(ready(world)?.status).toBe("True");
    await world.clock.advance(2 * hour);
    expect(world.writes).toHaveLength(2);
    await world.restart();
    await world.clock.advance(2 * hour);
    expect([world.writes.length, ready(world)?.reason]).toEqual([2, "Drifted"]);
    expect(world.events("Drifted")).toHaveLength(1);
    world.edit(0, { computeUnits: { min: 1, max: 2 } });
    await world.clock.advance(hour);
    expect([world.writes.length, ready(world)?.reason]).toEqual([3, "Drifted"]);
    world.edit(0, { pooler: undefined });
    await world.settle(1);
    expect([world.writes.length, ready(world)?.reason]).toEqual([3, "Idle"]);
  });

  it("a field that is shown no more leaves the Compute at rest, says so once, and sends nothing more", async () => {
    await using world = under();
    dropping(world, pooler, "nothing");
    world.declare(0, { ...place, pooler: { enabled: true } });
    await world.settle(1);
    await world.clock.advance(2 * hour);
    expect(ready(world)).toMatchObject({ status: "True" });
    expect(ready(world)?.message).toContain("does not show pooler.enabled, which is deprecated there: remove it");
    expect(world.writes).toHaveLength(1);
    expect(world.events("Drifted")).toHaveLength(1);
  });
});

describe("a move", () => {
  it("a move that the service ignores is Drifted with what to do instead, is sent once, and ends by an edit", async () => {
    await using world = under();
    world.declare(0, place);
    await world.settle(1);
    dropping(world, ["branch_id"], "other");
    world.edit(0, { branchID: "br-0-b" });
    const message = await until(world, "Drifted");
    expect(message).toContain("create a Compute on branch br-0-b and delete this one");
    const sent = world.writes.length;
    await world.clock.advance(2 * hour);
    await world.restart();
    await world.clock.advance(2 * hour);
    expect([world.writes.length, ready(world)?.reason]).toEqual([sent, "Drifted"]);
    world.edit(0, { branchID: "br-0-a" });
    await world.settle(1);
    expect([sent, world.writes.length, ready(world)?.reason]).toEqual([2, 2, "Idle"]);
  });

  it("a move that the service refuses is Rejected with what to do instead", async () => {
    await using world = under();
    world.declare(0, place);
    await world.settle(1);
    world.host.instead = ({ method }) =>
      method === "PATCH"
        ? { status: 400, headers: {}, body: JSON.stringify({ code: "", message: "branch_id cannot be changed" }) }
        : undefined;
    world.edit(0, { branchID: "br-0-b" });
    expect(await until(world, "Rejected")).toContain("create a Compute on branch br-0-b and delete this one");
    await world.clock.advance(2 * hour);
    expect(world.writes.length).toBeLessThan(10);
  });
});

describe("an operation with an action that is not known today", () => {
  const running = (world: SmallWorld, action: string, endpointId: string | undefined) => {
    const { service } = world.host;
    service.change(({ store, ids }, at) =>
      store.operations.insert({
        id: ids.uuid(),
        projectId: "shop",
        branchId: "br-0-a",
        endpointId,
        chain: undefined,
        action,
        effect: "none",
        status: "running",
        durationMs: 5000,
        due: at + 5000,
        createdAt: at,
      }),
    );
  };

  it.each(["tenant_detach_safekeepers", "tenant_attach_safekeepers", "epc_sync", "of_next_year"])(
    "%s delays a create and a change while it runs, and neither is sent twice",
    async (action) => {
      await using world = under();
      running(world, action, undefined);
      world.declare(0, place);
      await world.settle(1);
      expect(world.endpoints).toHaveLength(1);
      running(world, action, world.endpoints[0]?.id);
      world.edit(0, { computeUnits: { min: 1, max: 2 } });
      await world.settle(1);
      await world.clock.advance(60_000);
      expect(ready(world)?.status).toBe("True");
      const accepted = world.host.calls.filter(({ method, status = 0 }) => method !== "GET" && status < 300);
      expect(accepted.map(({ method }) => method)).toEqual(["POST", "PATCH"]);
    },
  );
});
