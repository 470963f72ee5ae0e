import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { fleetOf, signatureIn } from "../../src/operator/resources/signature.ts";
import { type Cluster, Clusters, isReady } from "../simulation/fleet/clusters.ts";

const Manifest = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()),
});

/** The manifests of "Rebuild a cluster", with the ids of a service that a test has. */
function manifests(): z.infer<typeof Manifest>[] {
  const page = readFileSync("docs/how-to.md", "utf8");
  const section = page.slice(page.indexOf("## Rebuild a cluster"));
  const [, block = ""] = /```yaml\n([\s\S]*?)```/.exec(section) ?? [];
  const text = block.replaceAll("shiny-wind-028834", "shop").replaceAll("br-aged-salad-637688", "br-main");
  return parseAllDocuments(text).map((document) => Manifest.parse(document.toJS()));
}

function applyAll(cluster: Cluster): void {
  for (const { kind, metadata, spec } of manifests()) {
    const object = { apiVersion: "compute-operator.dev/v1alpha1", kind, metadata: { name: metadata.name }, spec };
    const plural = kind === "Compute" ? "computes" : "computepools";
    cluster.send("POST", `/apis/compute-operator.dev/v1alpha1/namespaces/shop/${plural}`, object);
  }
}

test("docs/how-to.md rebuilds a cluster in the order in which it says so, and every endpoint is the same", async () => {
  await using world = new Clusters();
  const ready = (cluster: Cluster) => () => cluster.computes().length === 3 && cluster.computes().every(isReady);
  const old = world.cluster({ fleet: "prod" });
  applyAll(old);
  await world.until("ready", ready(old));
  await world.clock.advance(60_000);
  const before = new Map(old.computes().map(({ metadata, status }) => [metadata.name, status.endpointID]));
  expect([...before.keys()].toSorted()).toEqual(["shop-primary", "shop-readers-0", "shop-readers-1"]);
  expect(world.endpoints.map(({ name }) => signatureIn(name)?.fleet)).toEqual(Array(3).fill(fleetOf("prod")));
  await old.stop();
  const rebuilt = world.cluster({ fleet: "prod" });
  applyAll(rebuilt);
  await world.until("ready again", ready(rebuilt));
  await world.clock.advance(60_000);
  expect(new Map(rebuilt.computes().map(({ metadata, status }) => [metadata.name, status.endpointID]))).toEqual(before);
  expect(world.endpoints).toHaveLength(3);
  expect(rebuilt.events().filter((event) => event.startsWith("Normal Adopted"))).toHaveLength(3);
  // What no Compute has is listed where the page looks for it.
  rebuilt.send("DELETE", "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computepools/shop-readers");
  const name = world.endpoints.find(({ id }) => id === before.get("shop-primary"))?.name ?? "";
  const late = { branch_id: "br-main", type: "read_only", name: name.replace(/[0-9a-f]{32}$/, "0".repeat(32)) };
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", { endpoint: late });
  await world.clock.advance(120_000);
  expect(rebuilt.connectionStatus()["orphanedEndpoints"]).toEqual([{ id: endpoint.id, projectID: "shop" }]);
});
