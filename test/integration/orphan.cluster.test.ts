import { expect, it } from "vitest";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import { kubectl } from "../control-plane/shared-control-plane.ts";
import { eventually } from "../support/eventually.ts";
import type { Scenario } from "./support/scenario.ts";
import { main, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const branch = (name: string, spec: object = {}) => ({
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "Branch",
  metadata: { name },
  spec: {
    projectID: project,
    expiry: { never: true },
    compute: { computeUnits: { min: 0.25, max: 0.25 } },
    ...spec,
  },
});

const orphaned = (shop: Scenario, object: string) =>
  kubectl(["--namespace", shop.namespace, "delete", object, "--cascade=orphan", "--wait=false"]);

async function reasonOf(shop: Scenario, name: string): Promise<string | undefined> {
  const object = await shop.cluster.find("Branch", shop.namespace, name);
  return object && conditionOf(object.status ?? {}, "Ready")?.reason;
}

const until = (shop: Scenario, name: string, reason: string) =>
  eventually(`Branch ${name} to show ${reason}`, async () =>
    (await reasonOf(shop, name)) === reason ? true : undefined,
  );

const gone = (shop: Scenario, name: string) =>
  eventually(`Branch ${name} to go`, async () =>
    (await shop.cluster.find("Branch", shop.namespace, name)) === undefined ? true : undefined,
  );

it.concurrent("no Branch that kubectl deletes with --cascade=orphan deletes its data: the Compute without an owner still uses it", async () => {
  const shop = await stage().scenario();
  const names = ["one", "two", "three", "four", "five"];
  for (const name of names) await shop.cluster.create("Branch", shop.namespace, branch(name));
  await Promise.all(names.map((name) => until(shop, name, "Available")));
  await Promise.all(names.map((name) => shop.ready(name)));
  await Promise.all(names.map((name) => orphaned(shop, `brn/${name}`)));
  await Promise.all(names.map((name) => until(shop, name, "InUse")));
  const computes = await shop.cluster.list("Compute", shop.namespace);
  expect(computes.map(({ metadata }) => [metadata.ownerReferences ?? [], metadata.deletionTimestamp])).toEqual(
    names.map(() => [[], undefined]),
  );
  expect(shop.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  // Without its Compute the Branch goes, and its branch with it.
  await shop.cluster.delete("Compute", shop.namespace, "one");
  await shop.gone("one");
  await gone(shop, "one");
});

it.concurrent("a Branch with Retain that is deleted with --cascade=orphan leaves its Compute in the cluster", async () => {
  const shop = await stage().scenario();
  await shop.cluster.create("Branch", shop.namespace, branch("kept", { deletionPolicy: "Retain" }));
  await until(shop, "kept", "Available");
  await shop.ready("kept");
  await orphaned(shop, "brn/kept");
  await gone(shop, "kept");
  const compute = await shop.cluster.get("Compute", shop.namespace, "kept");
  expect([compute.metadata.ownerReferences ?? [], compute.metadata.deletionTimestamp]).toEqual([[], undefined]);
  expect(shop.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
});

it.concurrent("a Branch that is deleted in the foreground goes after its Compute, with its branch", async () => {
  const shop = await stage().scenario();
  await shop.cluster.create("Branch", shop.namespace, branch("fore"));
  await until(shop, "fore", "Available");
  await shop.ready("fore");
  await kubectl(["--namespace", shop.namespace, "delete", "brn/fore", "--cascade=foreground", "--wait=false"]);
  await shop.gone("fore");
  await gone(shop, "fore");
  expect(shop.endpoints).toEqual([]);
});

it.concurrent("a Compute that is deleted with --cascade=orphan leaves its connection Secret, and an event names it", async () => {
  const shop = await stage().scenario();
  await shop.compute("db", { branchID: main, connectionSecret: { name: "db-app" } });
  await shop.ready("db");
  await orphaned(shop, "compute/db");
  await shop.gone("db");
  expect(shop.endpoints).toEqual([]);
  const secret = await shop.cluster.get("Secret", shop.namespace, "db-app");
  expect(secret.metadata.ownerReferences ?? []).toEqual([]);
  expect(await shop.event("db", "Released")).toContain("Connection Secret db-app is kept");
});
