import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { installCrds } from "../control-plane/crds.ts";
import { ExternalMetrics } from "../control-plane/external-metrics.ts";
import { apply, kubectl } from "../control-plane/kubectl.ts";
import { blocksOf } from "../docs/blocks.ts";
import { newAuthority } from "../support/authority.ts";
import { eventually } from "../support/eventually.ts";
import { Stage } from "./support/operator-stage.ts";
import type { Scenario } from "./support/scenario.ts";
import { main, project } from "./support/seeded-service.ts";

// A control plane of its own: while an API service cannot be reached, no namespace of the cluster ends.
let own: ControlPlane;
let metrics: ExternalMetrics;
let stage: Stage;
beforeAll(async () => {
  [own, metrics] = await Promise.all([startControlPlane(), newAuthority().then((one) => ExternalMetrics.start(one))]);
  await Promise.all([own.startControllerManager(), installCrds(access())]);
  await apply(metrics.manifests, access());
  await kubectl(["wait", "--for=condition=Available", "apiservice/v1beta1.external.metrics.k8s.io"], access());
  stage = new Stage({ kubeconfig: own.kubeconfig });
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await own.stop();
  await metrics[Symbol.asyncDispose]();
});

const access = () => own.admin;

/** Waits until pool, Computes and service agree on so many replicas. */
async function settlesAt(shop: Scenario, replicas: number): Promise<void> {
  await eventually(
    `${replicas} replicas`,
    async () => {
      const { spec, status } = await shop.cluster.get("ComputePool", shop.namespace, "shop-readers");
      const computes = await shop.cluster.list("Compute", shop.namespace);
      const counts = [spec?.["replicas"], status?.["replicas"], status?.["readyReplicas"], computes.length];
      const all = [...counts, shop.endpoints.length];
      if (all.some((count) => count !== replicas)) throw new Error(`there are ${all.join(", ")}`);
      return true;
    },
    { timeoutMs: 60_000 },
  );
}

it("an autoscaler drives a pool by an external metric, up and down, and within its bounds", async () => {
  const shop = await stage.scenario();
  await shop.cluster.create("ComputePool", shop.namespace, {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ComputePool",
    metadata: { name: "shop-readers" },
    spec: { replicas: 1, template: { projectID: project, branchID: main } },
  });
  await settlesAt(shop, 1);
  // As the documentation has it, but that nobody waits five minutes for the way down.
  const documented: { spec: { behavior: { scaleDown: { stabilizationWindowSeconds: number } } } } = parse(
    blocksOf("docs/how-to.md", "yaml").find((block) => block.includes("kind: HorizontalPodAutoscaler")) ?? "",
  );
  documented.spec.behavior.scaleDown.stabilizationWindowSeconds = 0;
  metrics.values.set("shop_queries_per_second", 250);
  await apply([documented], access(), ["--namespace", shop.namespace]);
  await settlesAt(shop, 3);
  metrics.values.set("shop_queries_per_second", 110);
  await settlesAt(shop, 2);
  metrics.values.set("shop_queries_per_second", 10_000);
  await settlesAt(shop, 4);
  metrics.values.delete("shop_queries_per_second");
  const bounds = { ...documented, spec: { ...documented.spec, minReplicas: 1, maxReplicas: 2 } };
  await apply([bounds], access(), ["--namespace", shop.namespace]);
  await settlesAt(shop, 2);
  expect(shop.endpoints.map(({ type }) => type)).toEqual(["read_only", "read_only"]);
  // Made four, and each of the others once more than it was removed.
  const count = (wanted: string) => shop.writeCalls.filter(({ method }) => method === wanted).length;
  expect([count("POST") - count("DELETE"), count("PATCH")]).toEqual([2, 0]);
});
