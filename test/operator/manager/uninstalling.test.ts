import { expect, test } from "vitest";
import { Uninstalling } from "../../../src/operator/manager/uninstalling.ts";
import { compute } from "../../support/builders.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computes.compute-operator.dev";

test("each time that a CRD goes is reported once, also after it was installed again", async () => {
  const cluster = new MemoryCluster();
  let found = 0;
  const uninstalling = new Uninstalling(cluster.client(), cluster.clock, () => (found += 1));
  const asked = async () => [await uninstalling.now(compute()), await uninstalling.now(compute()), found];
  expect(await asked()).toEqual([true, true, 1]);
  installCRDs(cluster.server, ["computes"]);
  expect(await asked()).toEqual([false, false, 1]);
  cluster.server.handle({ method: "DELETE", path });
  expect(await asked()).toEqual([true, true, 2]);
});
