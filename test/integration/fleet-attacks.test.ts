import { describe, expect, it } from "vitest";
import { labelSelector } from "../../src/operator/resources/selector.ts";
import { fleetOf, signatureIn, signatureOf } from "../../src/operator/resources/signature.ts";
import { NoResponseError, type ServiceTransport } from "../../src/operator/service-client/transport.ts";
import { type Cluster, type ClusterOptions, Clusters } from "../simulation/fleet/clusters.ts";
import { isReady } from "../support/is-ready.ts";
import { storedKeySecret } from "./support/manifests.ts";
import { consoleKey, goodKey } from "./support/seeded-service.ts";

const former = { adopt: { former: true } };
const replica = { type: "read_only" };
const prod = { fleet: "prod" };

const ready = (cluster: Cluster, name: string, namespace?: string) => () => {
  const found = cluster.findCompute(name, namespace);
  return found !== undefined && isReady(found);
};

/** A cluster in which these stood, and which is lost; answers the id of the first one's endpoint. */
async function lost(world: Clusters, computes: Record<string, Record<string, unknown>>): Promise<string> {
  const cluster = world.cluster(prod);
  for (const [name, spec] of Object.entries(computes)) cluster.apply(name, { ...spec });
  await world.until("ready", () => cluster.computes().every(isReady));
  await world.clock.advance(60_000);
  await cluster.stop();
  world.host.calls.length = 0;
  return cluster.compute(Object.keys(computes)[0] ?? "").status.endpointID ?? "";
}

/** A connection besides `default`. */
function connect(cluster: Cluster, name: string, { baseURL = "http://service.test/api/v2", key = goodKey }): void {
  const namespace = "/namespaces/shop";
  cluster.send("POST", `/api/v1${namespace}/secrets`, storedKeySecret(key, `${name}-key`));
  cluster.send("POST", `/apis/compute-operator.dev/v1alpha1${namespace}/serviceconnections`, {
    metadata: { name },
    spec: { baseURL, apiKeySecretRef: { name: `${name}-key` } },
  });
}

const standsAsItWas = (world: Clusters, id: string) => world.endpointWrites.every((write) => write.id !== id);

it.each([
  ["type", replica, { branchID: "br-staging" }, /is of type read_only/],
  ["branch", replica, { ...replica, branchID: "br-preview" }, /is on branch br-main/],
])(
  "a Compute that was created again with another %s takes nothing over: it gets its own, and a warning names the other",
  async (_, was, is, why) => {
    await using world = new Clusters();
    const id = await lost(world, { db: was });
    const cluster = world.cluster(prod);
    cluster.apply("db", { ...is, ...former });
    await world.until("ready", ready(cluster, "db"));
    expect(standsAsItWas(world, id)).toBe(true);
    expect(cluster.compute("db").status.endpointID).not.toBe(id);
    const [warning] = cluster.events().filter((event) => event.startsWith("Warning Creating"));
    expect(warning).toMatch(why);
    expect(warning).toContain(id);
  },
);

it("a Compute that was created again with another project takes nothing over: it gets its own there, and the other is left as it was", async () => {
  await using world = new Clusters({ projects: [{ id: "billing", branches: ["br-billing"] }] });
  const id = await lost(world, { db: {} });
  const cluster = world.cluster(prod);
  cluster.apply("db", { projectID: "billing", branchID: "br-billing", ...former });
  await world.until("ready", ready(cluster, "db"));
  const { endpointID } = cluster.compute("db").status;
  expect(world.endpoints.map((endpoint) => endpoint.id)).toEqual([id]);
  cluster.remove("db");
  await world.until("gone", () => cluster.findCompute("db") === undefined);
  expect(world.endpointWrites).toEqual([
    { method: "POST", id: "", body: expect.anything() },
    { method: "DELETE", id: endpointID, body: undefined },
  ]);
  expect(world.endpoints.map((endpoint) => endpoint.id)).toEqual([id]);
});

it("a Compute that was created again with a connection to another service takes nothing over: it gets its own there", async () => {
  await using world = new Clusters();
  const other = world.connect("other.test");
  const id = await lost(world, { db: {} });
  const cluster = world.cluster(prod);
  connect(cluster, "other", { baseURL: "http://other.test/api/v2" });
  cluster.apply("db", { connectionRef: { name: "other" }, ...former });
  await world.until("ready", ready(cluster, "db"));
  expect(world.endpointWrites).toEqual([]);
  expect(world.endpoints.map((endpoint) => endpoint.id)).toEqual([id]);
  expect(other.calls.filter(({ method }) => method === "POST")).toHaveLength(1);
});

it("two endpoints with the same fleet, namespace and name are not taken over: a person has to say which", async () => {
  await using world = new Clusters();
  const id = await lost(world, { db: replica });
  const name = world.endpoints[0]?.name;
  const other = { endpoint: { branch_id: "br-main", type: "read_only", name } };
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", other);
  const cluster = world.cluster(prod);
  cluster.apply("db", { ...replica, ...former });
  await world.until("ready", ready(cluster, "db"));
  expect(standsAsItWas(world, id) && standsAsItWas(world, endpoint.id)).toBe(true);
  expect(cluster.events().join("\n")).toMatch(/Warning Creating .*there is more than one/);
});

it("an endpoint that a third Compute adopted meanwhile is not taken over", async () => {
  await using world = new Clusters();
  const id = await lost(world, { db: replica });
  const cluster = world.cluster(prod);
  cluster.apply("third", { ...replica, adopt: { endpointID: id } });
  await world.until("adopted", ready(cluster, "third"));
  cluster.apply("db", { ...replica, ...former });
  await world.until("ready", ready(cluster, "db"));
  expect(standsAsItWas(world, id)).toBe(true);
  expect(cluster.compute("third").status.endpointID).toBe(id);
  expect(cluster.events().join("\n")).toMatch(/Warning Creating .*Compute shop\/third has it/);
});

it("a manifest with former that was copied into another namespace takes nothing over", async () => {
  await using world = new Clusters();
  const cluster = world.cluster(prod);
  cluster.namespace("copies");
  cluster.apply("db", { ...replica, ...former });
  await world.until("ready", ready(cluster, "db"));
  cluster.apply("db", { ...replica, ...former }, "copies");
  await world.until("ready", ready(cluster, "db", "copies"));
  expect(cluster.compute("db", "copies").status.endpointID).not.toBe(cluster.compute("db").status.endpointID);
  cluster.remove("db", "copies");
  await world.until("gone", () => cluster.findCompute("db", "copies") === undefined);
  await world.clock.advance(60_000);
  expect(cluster.said("db")).toMatch(/^(Active|Idle)/);
});

it("a namespace that somebody else creates again takes nothing over, unless they ask for it", async () => {
  await using world = new Clusters();
  const id = await lost(world, { db: {} });
  const cluster = world.cluster(prod);
  cluster.apply("db", {});
  await world.clock.advance(60_000);
  expect(cluster.said("db")).toMatch(/^PrimaryExists: .*former Compute/);
  cluster.remove("db");
  await world.until("gone", () => cluster.findCompute("db") === undefined);
  expect(world.endpointWrites).toEqual([]);
  expect(world.endpoints.map((endpoint) => endpoint.id)).toEqual([id]);
});

it("an endpoint is taken over after deletionPolicy Retain, and deleted with its new Compute", async () => {
  await using world = new Clusters();
  const cluster = world.cluster(prod);
  cluster.apply("db", { ...replica, deletionPolicy: "Retain" });
  await world.until("ready", ready(cluster, "db"));
  const id = cluster.compute("db").status.endpointID;
  cluster.remove("db");
  await world.until("gone", () => cluster.findCompute("db") === undefined);
  world.host.calls.length = 0;
  cluster.apply("db", { ...replica, ...former });
  await world.until("ready", ready(cluster, "db"));
  expect(cluster.compute("db").status.endpointID).toBe(id);
  expect(world.endpointWrites.map(({ method }) => method)).toEqual(["PATCH"]);
  cluster.remove("db");
  await world.until("deleted", () => world.endpoints.length === 0);
});

it("an endpoint is taken over through another connection that reaches the same project with another key", async () => {
  await using world = new Clusters();
  const id = await lost(world, { db: replica });
  const cluster = world.cluster(prod);
  connect(cluster, "other", { key: consoleKey });
  cluster.apply("db", { ...replica, connectionRef: { name: "other" }, ...former });
  await world.until("ready", ready(cluster, "db"));
  expect(cluster.compute("db").status.endpointID).toBe(id);
  expect(world.endpointWrites.map(({ method }) => method)).toEqual(["PATCH"]);
});

it("a takeover is sent once, though the reply to the PATCH of the name is lost", async () => {
  await using world = new Clusters();
  const id = await lost(world, { db: replica });
  const cluster = world.cluster({ ...prod, way: losing("PATCH") });
  cluster.apply("db", { ...replica, ...former });
  await world.until("ready", ready(cluster, "db"));
  expect(cluster.compute("db").status.endpointID).toBe(id);
  expect(world.endpointWrites.map(({ method }) => method)).toEqual(["PATCH"]);
});

it("a late create of the former Compute is an orphan: counted, listed and never deleted", async () => {
  await using world = new Clusters();
  const id = await lost(world, { db: replica });
  const before = world.endpoints[0]?.name;
  const cluster = world.cluster(prod);
  cluster.apply("db", { ...replica, ...former });
  await world.until("ready", ready(cluster, "db"));
  const late = { endpoint: { branch_id: "br-main", type: "read_only", name: before } };
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", late);
  await world.clock.advance(120_000);
  expect(cluster.compute("db").status.endpointID).toBe(id);
  expect(cluster.connectionStatus()["orphanedEndpoints"]).toEqual([{ id: endpoint.id, projectID: "shop" }]);
  expect(await cluster.metric("orphaned_endpoints")).toBe(1);
  cluster.remove("db");
  await world.until("gone", () => cluster.findCompute("db") === undefined);
  expect(world.endpoints.map((one) => one.id)).toEqual([endpoint.id]);
});

describe("another fleet's name", () => {
  it("while creates are pending makes no second endpoint: the uid finds what they made", async () => {
    await using world = new Clusters();
    const cluster = world.cluster({ ...prod, way: losing("POST") });
    for (let n = 0; n < 3; n += 1) cluster.apply(`db-${n}`, replica);
    await world.until("all sent", () => world.endpoints.length === 3);
    await cluster.stop();
    cluster.start({ fleet: "live" });
    await world.until("ready", () => cluster.computes().every(isReady));
    await world.clock.advance(120_000);
    expect(world.endpoints).toHaveLength(3);
    expect(world.endpoints.map(({ name }) => signatureIn(name)?.fleet)).toEqual(Array(3).fill(fleetOf("live")));
  });
});

describe("another process's endpoints", () => {
  const watching: [string, ClusterOptions, ClusterOptions][] = [
    ["shard", { selects: labelSelector("shard!=b") }, { selects: labelSelector("shard=b") }],
    ["namespace", { namespaces: ["shop"] }, { namespaces: ["billing"] }],
  ];
  it.each(watching)("another process's endpoints are no orphans: %s", async (_, mine, theirs) => {
    await using world = new Clusters();
    const cluster = world.cluster({ ...prod, ...theirs });
    cluster.namespace("billing");
    const labels = { shard: "b" };
    cluster.send("POST", "/apis/compute-operator.dev/v1alpha1/namespaces/billing/computes", {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Compute",
      metadata: { name: "theirs", labels },
      spec: { projectID: "shop", branchID: "br-main", ...replica },
    });
    await world.until("ready", ready(cluster, "theirs", "billing"));
    await cluster.stop();
    cluster.start(mine);
    cluster.apply("mine", replica);
    await world.until("ready", ready(cluster, "mine"));
    await world.clock.advance(120_000);
    expect(cluster.connectionStatus()["orphanedEndpoints"]).toBeUndefined();
    expect(await cluster.metric("orphaned_endpoints")).toBe(0);
    // One that bears a key of ours and no uid that exists is ours, and an orphan.
    const uid = "00000000-0000-4000-8000-000000000001";
    const name = signatureOf({ metadata: { ...cluster.compute("mine").metadata, uid } }, fleetOf("prod"));
    world.console("POST", "/projects/shop/endpoints", { endpoint: { branch_id: "br-main", type: "read_only", name } });
    await world.clock.advance(120_000);
    expect(await cluster.metric("orphaned_endpoints")).toBe(1);
  });
});

/** Has the first answers to requests of this method get lost after the service carried them out. */
function losing(method: string): (inner: ServiceTransport) => ServiceTransport {
  return (inner) => ({
    async send(request, options) {
      const response = await inner.send(request, options);
      if (request.method === method) throw new NoResponseError("ECONNRESET: the connection was cut");
      return response;
    },
  });
}
