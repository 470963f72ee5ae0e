import { afterAll, beforeAll, expect, it } from "vitest";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { kubectl, runKubectl } from "../control-plane/kubectl.ts";
import { blocksOf } from "../docs/blocks.ts";
import { manifest } from "../operator/resources/manifest.ts";
import { eventually } from "../support/eventually.ts";

let cluster: ControlPlane;
const options = () => cluster.admin;

beforeAll(async () => {
  cluster = await startWithCrds();
  // It finds the kinds that there are when it starts.
  await cluster.startControllerManager();
  await kubectl(["create", "namespace", "shop"], options());
});

afterAll(() => cluster?.stop());

it("the quota of docs/how-to.md refuses the Compute that is one too many, by the name of the quota", async () => {
  const [quota = ""] = blocksOf("docs/how-to.md", "yaml").filter((block) => block.includes("kind: ResourceQuota"));
  await kubectl(["apply", "-f", "-"], { ...options(), input: quota.replace(/(count\/computes\S+): "\d+"/, '$1: "1"') });
  const create = (name: string) => {
    const input = JSON.stringify(manifest("Compute", {}, name));
    return runKubectl(["create", "-n", "shop", "-f", "-"], { ...options(), input });
  };
  await eventually("the quota to be counted", async () => {
    const used = await kubectl(
      ["get", "resourcequota", "-n", "shop", "-o", "jsonpath={.items[0].status.used}"],
      options(),
    );
    return used.includes("count/computes.compute-operator.dev") || undefined;
  });
  expect(await create("first")).toMatchObject({ status: 0 });
  const second = await create("second");
  expect(second.status).toBe(1);
  expect(second.stderr).toContain("exceeded quota: databases, requested: count/computes.compute-operator.dev=1");
});
