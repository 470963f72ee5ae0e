import { expect, it } from "vitest";
import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { kubectl } from "../../control-plane/shared-control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import type { Scenario } from "../support/scenario.ts";
import { project } from "../support/seeded-service.ts";
import { useStage } from "../support/use-stage.ts";

const stage = useStage();

const manifest = (name: string, spec: object = {}) => ({
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "Branch",
  metadata: { name },
  spec: { projectID: project, expiry: { after: "72h" }, ...spec },
});

function until(shop: Scenario, name: string, reason: string) {
  return eventually(`Branch ${name} to show ${reason}`, async () => {
    const object = await shop.cluster.get("Branch", shop.namespace, name);
    return conditionOf(object.status ?? {}, "Ready")?.reason === reason ? object : undefined;
  });
}

const branches = (shop: Scenario): { id: string; name: string; expires_at?: string }[] =>
  shop.console("GET", `/projects/${project}/branches`).branches;

it.concurrent("a Branch is made on a real control plane, shown by kubectl get brn, and deleted with its branch", async () => {
  const shop = await stage().scenario();
  await shop.cluster.create("Branch", shop.namespace, manifest("pr-42"));
  const { status } = await until(shop, "pr-42", "Available");
  const name = `${shop.namespace}/pr-42`;
  const made = branches(shop).find((branch) => branch.name === name);
  expect(made).toMatchObject({ id: status?.["branchID"], expires_at: status?.["expiresAt"] });
  const table = await kubectl(["--namespace", shop.namespace, "get", "brn"]);
  expect(
    table
      .split("\n")[0]
      ?.split(/\s{2,}/)
      .map((title) => title.trim()),
  ).toEqual(expect.arrayContaining(["NAME", "BRANCH", "STATE", "READY", "REASON", "EXPIRES", "AGE"]));
  expect(table).toMatch(new RegExp(`pr-42 +${made?.name} +Ready +True +Available +20`));
  const [before] = [shop.writes.length];
  await kubectl(["--namespace", shop.namespace, "delete", "brn/pr-42", "--wait=false"]);
  await shop.cluster.clear("Branch", shop.namespace, "pr-42");
  expect(branches(shop).find((branch) => branch.name === name)).toBeUndefined();
  expect(shop.writes.length - before).toBe(1);
  // Events last an hour: the log alone says later who deleted which data. The object goes before its line is written. A
  // connection that is seen before its Secret has lines of its own.
  const logged = () =>
    stage()
      .log.map((line) => JSON.parse(line))
      .filter((line) => line.namespace === shop.namespace && line.name === "pr-42");
  await eventually("a line of its deletion", () => logged().length > 1 || undefined);
  expect(logged().map(({ level, branch, reason }) => [level, branch, reason])).toEqual([
    ["info", undefined, "Created"],
    ["info", made?.id, "Deleted"],
  ]);
});

it.concurrent("the API server refuses a Branch without one expiry, with two, and one that changes its name", async () => {
  const shop = await stage().scenario();
  const create = (spec: object) => shop.cluster.create("Branch", shop.namespace, manifest("pr-1", spec));
  await expect(create({ expiry: {} })).rejects.toThrow("exactly one of after, at, lease and never");
  await expect(create({ expiry: { after: "1h", never: true } })).rejects.toThrow("exactly one of");
  await expect(create({ expiry: { after: "721h" } })).rejects.toThrow("between");
  await expect(create({ adopt: { byName: true } })).rejects.toThrow("need expiry.never: true");
  await expect(create({ protected: true })).rejects.toThrow("needs expiry.never: true");
  await create({ branchName: "one" });
  const rename = shop.cluster.modify("Branch", shop.namespace, "pr-1", (object) => {
    object.spec = { ...object.spec, branchName: "two" };
  });
  await expect(rename).rejects.toThrow("branchName is immutable");
});
