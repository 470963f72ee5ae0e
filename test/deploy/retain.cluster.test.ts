import { beforeAll, expect, it } from "vitest";
import { apply, createNamespace, kubectl } from "../control-plane/shared-control-plane.ts";
import { manifest, template } from "../operator/resources/manifest.ts";
import { eventually } from "../support/eventually.ts";

let retained = "";
let free = "";

const placed = <M extends { metadata: object }>(object: M, namespace: string) => ({
  ...object,
  metadata: { ...object.metadata, namespace },
});

const branch = {
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "Branch",
  metadata: { name: "pr-1" },
  spec: { projectID: "shiny-wind-028834", expiry: { after: "72h" } },
};

const objects = [
  manifest("Compute", {}, "unset"),
  manifest("Compute", { deletionPolicy: "Delete" }, "set"),
  manifest("ComputePool", template({}), "pool"),
  branch,
];

const policyOf = async (object: string, namespace: string, path = "spec") =>
  kubectl(["get", object, "-n", namespace, "-o", `jsonpath={.${path}.deletionPolicy}`]);

beforeAll(async () => {
  await kubectl(["apply", "-k", "deploy/samples/retain"]);
  [retained, free] = await Promise.all([createNamespace("retained"), createNamespace("free")]);
  // It stands before the namespace is labelled.
  await apply([placed(manifest("Compute", {}, "older"), retained)]);
  await kubectl(["label", "namespace", retained, "access.compute-operator.dev/deletion-policy=retain"]);
  await eventually("the policy to take effect", async () => {
    await kubectl([
      "annotate",
      "compute",
      "older",
      "-n",
      retained,
      `example.com/at=${performance.now()}`,
      "--overwrite",
    ]);
    return (await policyOf("compute/older", retained)) === "Retain" || undefined;
  });
});

it("every Compute, branch and pool of a labelled namespace retains what it has, whatever its manifest says", async () => {
  await apply(objects.map((object) => placed(object, retained)));
  expect(await policyOf("compute/unset", retained)).toBe("Retain");
  expect(await policyOf("compute/set", retained)).toBe("Retain");
  expect(await policyOf("brn/pr-1", retained)).toBe("Retain");
  expect(await policyOf("computepool/pool", retained, "spec.template")).toBe("Retain");
});

it("an object of another namespace is stored as it was written", async () => {
  await apply(objects.map((object) => placed(object, free)));
  expect(await policyOf("compute/unset", free)).toBe("");
  expect(await policyOf("compute/set", free)).toBe("Delete");
});

it("what stood before gets it with its next write", async () => {
  expect(await policyOf("compute/older", retained)).toBe("Retain");
});
