import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { manifestOf } from "../../src/cli/manifests/manifest-of.ts";
import { fleetOf, signatureIn } from "../../src/operator/resources/signature.ts";
import { ClusterWorld } from "../integration/support/cluster-world.ts";
import { goodKey } from "../integration/support/seeded-service.ts";
import { SmallWorld } from "../integration/support/small-world.ts";
import type { JsonObject } from "../simulation/api-server/objects.ts";
import { type Cluster, Clusters } from "../simulation/fleet/clusters.ts";
import { isReady } from "../support/is-ready.ts";
import { commandsIn } from "./commands.ts";

const Manifest = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()),
});

/** The manifests of a section of docs/how-to.md, with the ids of a service that a test has. */
function manifests(title: string): z.infer<typeof Manifest>[] {
  const page = readFileSync("docs/how-to.md", "utf8");
  const section = page.slice(page.indexOf(`## ${title}`));
  const [, block = ""] = /```yaml\n([\s\S]*?)```/.exec(section) ?? [];
  const text = block.replaceAll("shiny-wind-028834", "shop").replaceAll("br-aged-salad-637688", "br-main");
  return parseAllDocuments(text).map((document) => Manifest.parse(document.toJS()));
}

function applyAll(cluster: Cluster): void {
  for (const { kind, metadata, spec } of manifests("Rebuild a cluster")) {
    const object = { apiVersion: "compute-operator.dev/v1alpha1", kind, metadata: { name: metadata.name }, spec };
    const plural = kind === "Compute" ? "computes" : "computepools";
    cluster.send("POST", `${group}/${plural}`, object);
  }
}

const ready = (cluster: Cluster) => () => cluster.computes().length === 3 && cluster.computes().every(isReady);
const endpointsOf = (cluster: Cluster) =>
  new Map(cluster.computes().map(({ metadata, status }) => [metadata.name, status.endpointID]));
const group = "/apis/compute-operator.dev/v1alpha1/namespaces/shop";

test("docs/how-to.md moves a fleet to another cluster in the order in which it says so, and every endpoint is the same", async () => {
  await using world = new Clusters();
  const old = world.cluster({ fleet: "prod" });
  const other = world.cluster({ fleet: "prod" });
  applyAll(old);
  await world.until("ready", ready(old));
  await world.clock.advance(60_000);
  const before = endpointsOf(old);
  world.host.calls.length = 0;
  const retained = (path: string, change: (spec: JsonObject) => JsonObject) => {
    const found = old.send("GET", path);
    old.send("PUT", path, { ...found, spec: change(found.spec) });
  };
  retained(`${group}/computes/shop-primary`, (spec) => ({ ...spec, deletionPolicy: "Retain" }));
  retained(`${group}/computepools/shop-readers`, (spec) => ({
    ...spec,
    template: { ...Object(spec["template"]), deletionPolicy: "Retain" },
  }));
  await world.until("Retain on all", () => old.computes().every(({ spec }) => spec.deletionPolicy === "Retain"));
  old.remove("shop-primary");
  old.send("DELETE", `${group}/computepools/shop-readers`);
  await world.until("let go", () => old.computes().length === 0);
  expect(old.events().filter((event) => event.startsWith("Normal Released"))).toHaveLength(3);
  expect(world.endpointWrites).toEqual([]);
  applyAll(other);
  await world.until("ready", ready(other));
  await world.clock.advance(60_000);
  expect(endpointsOf(other)).toEqual(before);
  expect(other.events().filter((event) => event.startsWith("Normal Adopted"))).toHaveLength(3);
  expect(world.endpointWrites.map(({ method }) => method)).toEqual(["PATCH", "PATCH", "PATCH"]);
  // Deleting follows the manifests of the new cluster again.
  other.remove("shop-primary");
  await world.until("deleted", () => world.endpoints.length === 2);
});

test("docs/how-to.md shares one key: Computes of the namespaces that it names use it, and no others", async () => {
  const [connection] = manifests("Share one key");
  if (connection === undefined) throw new Error("the section has no manifest");
  const { name } = connection.metadata;
  const spec = { ...connection.spec, baseURL: "http://service.test/api/v2" };
  await using world = new ClusterWorld();
  world.key(goodKey, "shops-api-key");
  world.connect(spec, name);
  for (const namespace of ["shop", "billing", "other"]) world.namespace(namespace);
  const through = { connectionRef: { kind: "ClusterServiceConnection", name } };
  for (const namespace of ["shop", "billing", "other"]) {
    world.declare(namespace, "db", { ...through, type: "read_only" });
  }
  await world.ready("shop", "db");
  await world.ready("billing", "db");
  expect(world.said("other", "db")).toContain('does not select namespace "other"');
  expect(world.endpoints).toHaveLength(2);
});

test("docs/how-to.md looks first, then hands over: nothing is sent before a Compute is managed, and then what differs", async () => {
  await using world = new SmallWorld(["br-a", "br-b"], 1);
  for (const branch_id of ["br-a", "br-b"]) {
    world.console("POST", "/projects/shop/endpoints", { endpoint: { branch_id, type: "read_write" } });
    await world.clock.advance(10_000);
  }
  const command = commandsIn("docs/how-to.md").find(({ text }) => text.startsWith("compute-operator export"));
  const observe = command?.text.includes("--observe") === true;
  const existing = world.endpoints;
  for (const [index, endpoint] of existing.entries()) {
    const exported = manifestOf(endpoint, { namespace: "default", connection: "default", observe });
    if ("problem" in exported) throw new Error(exported.problem);
    world.declare(index, { ...exported.manifest.spec });
  }
  await world.settle(2);
  const shown = (index: number) =>
    world.compute(index).status.conditions?.map(({ status, reason }) => [status, reason]);
  const inStep = [
    ["True", "Observed"],
    ["True", "Observed"],
  ];
  expect([shown(0), shown(1)]).toEqual([inStep, inStep]);
  world.edit(0, { computeUnits: { min: 1, max: 4 } });
  world.edit(1, { computeUnits: { min: 1, max: 4 } });
  await world.settle(2);
  expect(world.compute(0).status.drift?.map(({ field }) => field)).toContain("computeUnits.max");
  expect(world.writes).toEqual([]);
  const [, patch = ""] =
    /patch compute shop-primary .* -p '(\{"spec":\{"managementPolicy.*\})'/.exec(
      readFileSync("docs/how-to.md", "utf8"),
    ) ?? [];
  world.edit(0, JSON.parse(patch).spec);
  await world.settle(2);
  await world.clock.advance(120_000);
  expect(world.compute(0).status).toMatchObject({ size: "1–4 CU", proof: { by: "adopted" } });
  expect(world.writes).toEqual([`PATCH /projects/shop/endpoints/${existing[0]?.id}`]);
  expect(world.events("Adopted")).toHaveLength(1);
  for (const index of [0, 1]) world.remove(index);
  await world.clock.advance(60_000);
  expect(world.endpoints.map(({ id }) => id)).toEqual(existing.map(({ id }) => id));
});

test("docs/how-to.md rebuilds a cluster in the order in which it says so, and every endpoint is the same", async () => {
  await using world = new Clusters();
  const old = world.cluster({ fleet: "prod" });
  applyAll(old);
  await world.until("ready", ready(old));
  await world.clock.advance(60_000);
  const before = endpointsOf(old);
  expect([...before.keys()].toSorted()).toEqual(["shop-primary", "shop-readers-0", "shop-readers-1"]);
  expect(world.endpoints.map(({ name }) => signatureIn(name)?.fleet)).toEqual(Array(3).fill(fleetOf("prod")));
  await old.stop();
  const rebuilt = world.cluster({ fleet: "prod" });
  applyAll(rebuilt);
  await world.until("ready again", ready(rebuilt));
  await world.clock.advance(60_000);
  expect(endpointsOf(rebuilt)).toEqual(before);
  expect(world.endpoints).toHaveLength(3);
  expect(rebuilt.events().filter((event) => event.startsWith("Normal Adopted"))).toHaveLength(3);
  // What no Compute has is listed where the page looks for it.
  rebuilt.send("DELETE", `${group}/computepools/shop-readers`);
  const name = world.endpoints.find(({ id }) => id === before.get("shop-primary"))?.name ?? "";
  const late = { branch_id: "br-main", type: "read_only", name: name.replace(/[0-9a-f]{32}$/, "0".repeat(32)) };
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", { endpoint: late });
  await world.clock.advance(120_000);
  expect(rebuilt.connectionStatus()["orphanedEndpoints"]).toEqual([{ id: endpoint.id, projectID: "shop" }]);
});
