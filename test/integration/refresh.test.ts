import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const connection = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
const sized = (cu: number) => ({ ...place, computeUnits: { min: cu, max: cu } });
const patches = (world: SmallWorld) => world.host.calls.filter(({ method }) => method === "PATCH");

function refreshEvery(world: SmallWorld, refreshInterval: string): void {
  const object = world.send("GET", connection);
  world.send("PUT", connection, { ...object, spec: { ...object.spec, refreshInterval } });
}

it("a change by somebody else is put back with one PATCH and one event that names the fields, was and is", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...sized(1), passwordlessAccess: true });
  await world.settle(1);
  const theirs = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 4, passwordless_access: false };
  world.console("PATCH", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`, { endpoint: theirs });
  await world.clock.advance(120_000);
  const ours = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1, passwordless_access: true };
  expect(patches(world).map(({ body }) => body)).toEqual([{ endpoint: ours }]);
  expect(world.timesEmitted("DriftCorrected")).toBe(1);
  expect(world.events("DriftCorrected")).toEqual([
    expect.stringContaining(
      "computeUnits.min (was 2, now 1), computeUnits.max (was 4, now 1), passwordlessAccess (was false, now true)",
    ),
  ]);
});

it("a change by somebody else is seen at once if a refresh is requested, and the status names the request", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  refreshEvery(world, "24h");
  world.declare(0, sized(1));
  await world.settle(1);
  await world.clock.advance(60_000);
  const theirs = { autoscaling_limit_max_cu: 4 };
  world.console("PATCH", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`, { endpoint: theirs });
  await world.clock.advance(3_600_000);
  expect(patches(world)).toEqual([]);
  world.annotate(0, "reconcileRequestedAt", "now");
  await world.clock.advance(2000);
  expect(world.compute(0).status).toMatchObject({ lastHandledReconcileAt: "now", size: "1 CU" });
  expect(patches(world)).toHaveLength(1);
});

it("the projects that a key reaches are read every ten minutes, and not in between", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  await world.clock.advance(60_000);
  const asked = () => world.host.calls.filter(({ path }) => path === "/auth" || path === "/projects").length;
  const before = asked();
  world.console("POST", "/projects", { project: { name: "another", org_id: "org-shop" } });
  await world.clock.advance(530_000);
  expect([asked(), world.send("GET", connection).status.projectCount]).toEqual([before, 1]);
  await world.clock.advance(30_000);
  expect(world.send("GET", connection).status.projectCount).toBe(2);
  expect(asked()).toBeGreaterThan(before);
});

it("a key at a service without /auth has no known kind, the status says so, and all goes on", async () => {
  await using world = new SmallWorld([place.branchID], 1, { strictSpec: true });
  world.declare(0, place);
  await world.settle(1);
  const { keyType, conditions, projectCount } = world.send("GET", connection).status;
  expect([keyType, projectCount, conditions[0].reason]).toEqual(["unknown", 1, "Authenticated"]);
});

it.each([
  ["for it has no call for that", { strictSpec: true }, undefined],
  ["for its list never shows them", {}, JSON.stringify({ operations: [], pagination: {} })],
])(
  "the outcome of operations is unknown once the endpoint is at rest, %s, and the polls end",
  async (_, service, body) => {
    await using world = new SmallWorld([place.branchID], 1, service);
    if (body !== undefined) {
      world.host.instead = ({ method, path }) =>
        method === "GET" && path.endsWith("/operations") ? { status: 200, headers: {}, body } : undefined;
    }
    world.declare(0, sized(1));
    await world.settle(1);
    await world.clock.advance(300_000);
    const asked = () => world.host.calls.filter(({ path }) => path.endsWith("/operations")).length;
    const before = asked();
    expect(world.compute(0).status.operations).toMatchObject([{ action: "start_compute", status: "unknown" }]);
    await world.restart();
    await world.clock.advance(300_000);
    expect(world.compute(0).status).toMatchObject({ state: "Active", operations: [{ status: "unknown" }] });
    expect(asked()).toBe(before);
    world.declare(0, sized(2));
    await world.settle(1);
    expect(world.compute(0).status.operations).toMatchObject([{ action: "apply_config", status: "unknown" }, {}]);
  },
);

it("an endpoint that was deleted and that its own GET shows all the same is asked for ever more rarely, until it does not", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, place);
  await world.settle(1);
  const [endpoint] = world.endpoints;
  const body = JSON.stringify({ endpoint });
  const isOne = (path: string) => path.endsWith(`/endpoints/${endpoint?.id}`);
  world.host.instead = ({ method, path }) =>
    method === "GET" && isOne(path) ? { status: 200, headers: {}, body } : undefined;
  world.remove(0);
  await world.clock.advance(300_000);
  const asked = world.host.calls.filter(({ method, path }) => method === "GET" && isOne(path)).length;
  expect(asked).toBeGreaterThan(5);
  expect(asked).toBeLessThan(15);
  expect(world.isGone(0)).toBe(false);
  world.host.instead = undefined;
  await world.clock.advance(61_000);
  expect(world.isGone(0)).toBe(true);
});

it.each([
  ["the service is away", 503, "ServiceUnavailable"],
  ["the role was dropped", 404, "Rejected"],
])(
  "a refresh for a new password that is requested while %s is not over before the Secret has it",
  async (_, status, reason) => {
    await using world = new SmallWorld(["br-0-a"], 1);
    const connectionSecret = { name: "shop-db", database: "neondb", role: "neondb_owner" };
    world.declare(0, { projectID: "shop", branchID: "br-0-a", connectionSecret });
    await world.settle(1);
    const isURI = ({ path }: { path: string }) => path.includes("connection_uri");
    const refusal = { status, headers: {}, body: JSON.stringify({ code: "", message: "role not found" }) };
    world.host.instead = (call) => (isURI(call) ? refusal : undefined);
    world.annotate(0, "reconcileRequestedAt", "now");
    await world.clock.advance(120_000);
    expect(world.compute(0).status).toMatchObject({
      conditions: [{ reason }, { reason }, {}],
      binding: { name: "shop-db" },
    });
    expect(world.compute(0).status.lastHandledReconcileAt).toBeUndefined();
    const uri = "postgresql://neondb_owner:changed@ep-one.aws.example.com/neondb";
    const changed = { status: 200, headers: {}, body: JSON.stringify({ uri }) };
    world.host.instead = (call) => (isURI(call) ? changed : undefined);
    await world.clock.advance(300_000);
    expect(world.compute(0).status.lastHandledReconcileAt).toBe("now");
    expect(world.secretsOf(0)).toMatchObject([{ data: { password: Buffer.from("changed").toString("base64") } }]);
  },
);
