import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { installCrds } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { said } from "./conditions/conditions.ts";
import { Stage } from "./support/operator-stage.ts";

// On a control plane of its own, since the last test takes the CRD away.
let controlPlane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  controlPlane = await startControlPlane();
  await installCrds({ kubeconfig: controlPlane.kubeconfig, kubectl: controlPlane.binaries.kubectl });
  stage = new Stage({ kubeconfig: controlPlane.kubeconfig, maxDeletesPerMinute: 2 });
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await controlPlane.stop();
});

const names = ["db-0", "db-1", "db-2", "db-3"];

it("no more computes are deleted in a minute than --max-deletes-per-minute allows, and the others say that they wait", async () => {
  const shop = await stage.scenario();
  await Promise.all(names.map((name) => shop.compute(name, { type: "read_only" })));
  await Promise.all(names.map((name) => shop.ready(name)));
  await Promise.all(names.map((name) => shop.cluster.delete("Compute", shop.namespace, name)));
  await eventually("two to go", () => (shop.endpoints.length === 2 ? true : undefined));
  const waiting = await eventually("the others to say why", () =>
    names
      .map((name) => shop.history(name).at(-1))
      .find((compute) => compute !== undefined && said(compute).includes("--max-deletes-per-minute")),
  );
  await eventually("the event", async () => {
    const events = await shop.cluster.events(shop.namespace, waiting.metadata.name);
    return events.find(({ message }) => message.startsWith("Waiting: --max-deletes-per-minute"));
  });
  expect(shop.endpoints).toHaveLength(2);
  expect(await stage.scrape()).toMatch(/^compute_operator_deletes_held [12]$/m);
  await Promise.all(names.map((name) => shop.gone(name)));
  expect(await stage.scrape()).toMatch(/^compute_operator_deletes_held 0$/m);
  expect(shop.endpoints).toEqual([]);
});

it("deleting the CRD deletes nothing at the service", async () => {
  const shop = await stage.scenario();
  await Promise.all(names.map((name) => shop.compute(name, { type: "read_only" })));
  await Promise.all(names.map((name) => shop.ready(name)));
  const { kubeconfig, binaries } = controlPlane;
  const crd = "computes.compute-operator.dev";
  await kubectl(["delete", "crd", crd, "--timeout=60s"], { kubeconfig, kubectl: binaries.kubectl });
  expect(shop.endpoints).toHaveLength(4);
  expect(shop.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  expect(await shop.event("db-0", "Released")).toContain("the CRD itself is being deleted");
});
