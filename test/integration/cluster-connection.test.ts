import { describe, expect, it } from "vitest";
import { ClusterWorld, ownNamespace, selected, worldOfShop as shop } from "./support/cluster-world.ts";

const inUse = "compute-operator.dev/in-use";

describe("a ClusterServiceConnection", () => {
  it("serves Computes of the namespaces that it selects, with the key of the operator's namespace", async () => {
    await using world = await shop({ branches: ["br-2"] });
    world.namespace("billing", selected);
    world.declare("billing", "db", { branchID: "br-2" });
    await world.ready("billing", "db");
    expect(world.endpoints).toHaveLength(2);
    expect(world.connectionSaid()).toBe("Authenticated: The service accepts the API key.");
    expect(world.connection().metadata.finalizers).toEqual([inUse]);
    expect(world.find(`/api/v1/namespaces/${ownNamespace}/secrets/fleet-key`).metadata.finalizers ?? []).toEqual([]);
    expect(world.compute("shop", "db").status.clusterConnection).toBe("fleet");
  });

  it("lists a project once for all namespaces", async () => {
    await using world = await shop({ branches: ["br-2"] });
    world.namespace("billing", selected);
    world.declare("billing", "db", { branchID: "br-2" });
    await world.ready("billing", "db");
    await world.clock.advance(60_000);
    world.host.calls.length = 0;
    await world.clock.advance(300_000);
    const lists = world.host.calls.filter(({ path }) => path.endsWith("/endpoints"));
    expect(lists).toHaveLength(10);
  });

  it("serves no other namespace, and says so", async () => {
    await using world = new ClusterWorld();
    world.namespace("shop");
    world.declare("shop", "db");
    await world.clock.advance(60_000);
    expect(world.said("shop", "db")).toBe(
      'ConnectionNotReady: ClusterServiceConnection "fleet" does not select namespace "shop". Nothing is sent, deletion included, until an administrator lets spec.namespaceSelector match it, or spec.deletionPolicy is Retain on deletion.',
    );
    expect(world.host.calls.filter(({ path }) => path.startsWith("/projects/"))).toEqual([]);
    world.label("shop", selected);
    await world.ready("shop", "db");
  });

  it("selects by the name of the namespace, and all with {}", async () => {
    const byName = {
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: ["shop", "billing"] }],
    };
    await using world = new ClusterWorld({ connection: { namespaceSelector: byName } });
    world.namespace("shop");
    world.namespace("other");
    world.declare("shop", "db");
    world.declare("other", "db", { branchID: "br-preview" });
    await world.ready("shop", "db");
    expect(world.said("other", "db")).toContain('does not select namespace "other"');
    const path = "/apis/compute-operator.dev/v1alpha1/clusterserviceconnections/fleet";
    const found = world.send("GET", path);
    world.send("PUT", path, { ...found, spec: { ...found.spec, namespaceSelector: {} } });
    await world.ready("other", "db");
  });

  it("allows the projects that it names, and with * all", async () => {
    await using world = new ClusterWorld({ connection: { allowedProjects: ["another"] } });
    world.namespace("shop", selected);
    world.declare("shop", "db");
    await world.clock.advance(30_000);
    expect(world.said("shop", "db")).toContain('ClusterServiceConnection "fleet" does not allow project shop');
    expect(world.host.calls.filter(({ path }) => path.startsWith("/projects/"))).toEqual([]);
    const path = "/apis/compute-operator.dev/v1alpha1/clusterserviceconnections/fleet";
    const found = world.send("GET", path);
    world.send("PUT", path, { ...found, spec: { ...found.spec, allowedProjects: ["*"] } });
    await world.ready("shop", "db");
  });
});

it("a namespace that no longer matches has nothing sent for it, deletion included, until it matches again", async () => {
  await using world = await shop();
  world.label("shop", {});
  await world.until("the condition", () => world.said("shop", "db").startsWith("ConnectionNotReady"));
  world.host.calls.length = 0;
  world.edit("shop", "db", { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(60_000);
  world.remove("shop", "db");
  await world.clock.advance(120_000);
  expect(world.host.calls.filter(({ path }) => path.startsWith("/projects/"))).toEqual([]);
  expect(world.said("shop", "db")).toContain('does not select namespace "shop"');
  expect(world.endpoints).toHaveLength(1);
  world.label("shop", selected);
  await world.until("the end", () => world.isGone("shop", "db"));
  expect(world.endpoints).toEqual([]);
});

it("a Compute with Retain is let go of in a namespace that no longer matches, and the endpoint stays", async () => {
  await using world = await shop();
  world.label("shop", {});
  world.remove("shop", "db");
  await world.clock.advance(60_000);
  expect(world.isGone("shop", "db")).toBe(false);
  world.host.calls.length = 0;
  world.edit("shop", "db", { deletionPolicy: "Retain" });
  await world.until("the end", () => world.isGone("shop", "db"));
  expect(world.endpoints).toHaveLength(1);
  expect(world.writes).toEqual([]);
});

it("a namespace that no longer matches keeps its connection Secret", async () => {
  await using world = new ClusterWorld();
  world.namespace("shop", selected);
  world.declare("shop", "db", { connectionSecret: { name: "details" } });
  await world.ready("shop", "db");
  const secret = () => world.find("/api/v1/namespaces/shop/secrets/details");
  const before = secret();
  expect(before.data["endpoint-id"]).toBeDefined();
  world.label("shop", {});
  await world.clock.advance(4_000_000);
  expect(world.said("shop", "db")).toContain("does not select");
  expect(secret()).toEqual(before);
});

it("a namespace that no longer matches keeps its claim on what it once had: nobody else takes the branch's primary over", async () => {
  await using world = await shop();
  world.label("shop", {});
  await world.clock.advance(5000);
  world.namespace("thief", selected);
  world.declare("thief", "db", { adopt: { branchPrimary: true } });
  await world.clock.advance(60_000);
  expect(world.said("thief", "db")).toMatch(/^(Conflict|AdoptionRefused): .*shop\/db/);
});

describe("a namespace that was never admitted", () => {
  it("claims nothing: its older Compute keeps nobody from the branch", async () => {
    await using world = new ClusterWorld();
    world.namespace("squatter");
    world.declare("squatter", "db");
    await world.clock.advance(60_000);
    world.namespace("shop", selected);
    world.declare("shop", "db");
    await world.ready("shop", "db");
    expect(world.said("squatter", "db")).toContain("does not select");
  });

  it("does not hold the connection: it is deleted at once", async () => {
    await using world = new ClusterWorld();
    world.namespace("squatter");
    world.declare("squatter", "db");
    await world.clock.advance(10_000);
    world.send("DELETE", "/apis/compute-operator.dev/v1alpha1/clusterserviceconnections/fleet");
    await world.clock.advance(10_000);
    expect(world.connection()).toBeUndefined();
    expect(world.said("squatter", "db")).toContain('There is no ClusterServiceConnection "fleet"');
  });
});
