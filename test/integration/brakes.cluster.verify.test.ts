import { afterAll, beforeAll, expect, it } from "vitest";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { said } from "./conditions/conditions.ts";
import { speed } from "./support/in-process-operator.ts";
import { Stage } from "./support/operator-stage.ts";

// On a control plane of its own, since the last test takes the CRD away.
let controlPlane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  controlPlane = await startWithCrds();
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
  const held = async (count: RegExp) =>
    count.test(/^compute_operator_deletes_held (\d+)$/m.exec(await stage.scrape())?.[1] ?? "") || undefined;
  await eventually("some to be held", () => held(/^[12]$/));
  const waiting = await eventually("the others to say why", () =>
    names.flatMap((name) => shop.history(name)).find((one) => said(one).includes("--max-deletes-per-minute")),
  );
  await eventually("the event", async () => {
    const events = await shop.cluster.events(shop.namespace, waiting.metadata.name);
    return events.find(({ message }) => message.startsWith("Waiting: --max-deletes-per-minute"));
  });
  await Promise.all(names.map((name) => shop.gone(name)));
  await eventually("none to be held", () => held(/^0$/));
  expect(shop.endpoints).toEqual([]);
  const [first = 0, second = 0, third = 0, fourth = 0, ...more] = shop.writeCalls
    .filter(({ method }) => method === "DELETE")
    .map(({ at }) => at);
  expect(more).toEqual([]);
  for (const pause of [third - first, fourth - second]) expect(pause).toBeGreaterThan(60_000 / speed - 50);
});

it("deleting the CRD deletes nothing at the service", async () => {
  const shop = await stage.scenario();
  await Promise.all(names.map((name) => shop.compute(name, { type: "read_only" })));
  await Promise.all(names.map((name) => shop.ready(name)));
  const crd = "computes.compute-operator.dev";
  await kubectl(["delete", "crd", crd, "--timeout=60s"], controlPlane.admin);
  expect(shop.endpoints).toHaveLength(4);
  expect(shop.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  expect(await shop.event("db-0", "Released")).toContain("the CRD itself is being deleted");
});
