import { describe, expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { memberKey } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const create = "POST /projects/shop/endpoints";
const secrets = "/api/v1/namespaces/default/secrets";
const connections = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";
const reasonOf = (world: SmallWorld) => world.compute(0).status.conditions?.[0]?.reason;
const finalizersOf = (world: SmallWorld, name: string): unknown =>
  world.send("GET", `${connections}/${name}`).metadata.finalizers ?? [];

/** Another connection, with fields laid over those of the first. */
function another(world: SmallWorld, spec: Record<string, unknown>): void {
  const { apiVersion, kind, spec: base } = world.send("GET", `${connections}/default`);
  world.send("POST", connections, { apiVersion, kind, metadata: { name: "other" }, spec: { ...base, ...spec } });
}

function keyOf(world: SmallWorld, name: string, key: string): void {
  const secret = world.send("GET", `${secrets}/service-api-key`);
  const data = { "api-key": Buffer.from(key).toString("base64") };
  world.send("POST", secrets, { ...secret, metadata: { name }, data });
}

describe("a Compute whose connectionRef is changed", () => {
  it("goes on with its endpoint where the new connection lists it, though with another key, and nothing is sent", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    const { endpointID, host } = world.compute(0).status;
    keyOf(world, "bobs", memberKey);
    another(world, { apiKeySecretRef: { name: "bobs" } });
    world.declare(0, { ...place, connectionRef: { name: "other" } });
    await world.settle(1);
    await world.clock.advance(120_000);
    expect(world.compute(0).status).toMatchObject({ endpointID, host, state: "Active" });
    expect(world.writes).toEqual([create]);
    expect([finalizersOf(world, "default"), finalizersOf(world, "other")]).toEqual([
      [],
      ["compute-operator.dev/in-use"],
    ]);
    world.remove(0);
    await world.clock.advance(60_000);
    expect(world.endpoints).toEqual([]);
  });

  it("makes nothing where the new connection does not list it, says so, and goes on when it is led back", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    const { endpointID } = world.compute(0).status;
    const elsewhere = world.services.connect("elsewhere.test", { branches: [place.branchID] });
    another(world, { baseURL: "http://elsewhere.test/api/v2" });
    world.declare(0, { ...place, connectionRef: { name: "other" } });
    await world.clock.advance(300_000);
    expect(reasonOf(world)).toBe("MassLoss");
    expect(said(world.compute(0))).toContain(`endpoint ${endpointID} is not listed with the current base URL and key`);
    expect(elsewhere.calls.filter(({ method }) => method !== "GET")).toEqual([]);
    world.declare(0, place);
    await world.settle(1);
    expect(world.compute(0).status.endpointID).toBe(endpointID);
    expect(world.writes).toEqual([create]);
  });
});

it("a field taken out of the manifest is left unchanged, and ignored from then on whatever changes it", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  const all = {
    ...place,
    computeUnits: { min: 2, max: 4 },
    pooler: { enabled: true, mode: "transaction" },
    disabled: false,
    passwordlessAccess: false,
    postgresSettings: { work_mem: "8MB", max_wal_size: "4GB" },
  };
  world.declare(0, all);
  await world.settle(1);
  const before = world.endpoint(world.compute(0).status.endpointID);
  const { scaleToZero: _, ...bare } = place;
  world.declare(0, { ...bare, postgresSettings: { work_mem: "8MB" } });
  await world.settle(1);
  expect(world.endpoint(before.id)).toMatchObject({
    autoscaling_limit_min_cu: 2,
    autoscaling_limit_max_cu: 4,
    suspend_timeout_seconds: -1,
    pooler_enabled: true,
    passwordless_access: false,
    settings: before.settings,
  });
  expect(world.writes).toEqual([create]);
  const theirs = {
    autoscaling_limit_min_cu: 1,
    autoscaling_limit_max_cu: 1,
    suspend_timeout_seconds: 3600,
    pooler_enabled: false,
    passwordless_access: true,
    disabled: true,
    settings: { pg_settings: { work_mem: "8MB", max_wal_size: "1GB" } },
  };
  world.console("PATCH", `/projects/shop/endpoints/${before.id}`, { endpoint: theirs });
  await world.clock.advance(180_000);
  expect(world.endpoint(before.id)).toMatchObject(theirs);
  expect(world.writes).toEqual([create]);
  expect(world.compute(0).status.conditions?.[0]).toMatchObject({ status: "True", reason: "Disabled" });
});

it.each<[string, (world: SmallWorld) => void]>([
  ["change", (world) => world.edit(0, { computeUnits: { min: 2, max: 2 } })],
  ["restart", (world) => world.annotate(0, "restartedAt", "now")],
])(
  "a %s just after the endpoint was deleted elsewhere reports what the service answered, and another is created: the message does not blame the project's id",
  async (doing, edit) => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    const { endpointID } = world.compute(0).status;
    world.console("DELETE", `/projects/shop/endpoints/${endpointID}`);
    edit(world);
    await world.clock.advance(2000);
    expect(reasonOf(world)).toBe("ServiceUnavailable");
    expect(said(world.compute(0))).toBe(
      `The service could not ${doing} endpoint ${endpointID}, although it listed the endpoint: endpoint not found. The endpoints are listed again before anything else is sent.`,
    );
    await world.clock.advance(60_000);
    await world.settle(1);
    expect(world.events("EndpointLost")).toHaveLength(1);
    expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
    expect(world.writes.filter((write) => write === create)).toHaveLength(2);
  },
);
