import { expect, it } from "vitest";
import { tryKubectl } from "../control-plane/shared-control-plane.ts";

it("the samples are applied without a word of warning", async () => {
  const { status, stdout, stderr } = await tryKubectl(["apply", "-k", "deploy/samples", "--dry-run=client"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("compute.compute-operator.dev/shop-primary created");
});
