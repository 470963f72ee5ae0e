import { describe, expect, test } from "vitest";
import { updateStatus } from "../../../../src/operator/compute/update-status.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { signatureOfUID } from "../../../../src/operator/resources/signature.ts";
import { soonMs } from "../../../../src/operator/runtime/waits.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { endpoint, input, madeBy } from "../../../support/builders.ts";
import { json } from "../../../support/scripted-service.ts";
import { Acting, standing } from "./executing.ts";

describe("a create", () => {
  test("a create is not sent again for a Compute that is long gone, though an old view shows it with its record", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    await acting.reconcile(self);
    const old = acting.compute();
    acting.write([{ op: "replace", path: "/metadata/finalizers", value: [] }]);
    acting.cluster.server.handle({
      method: "DELETE",
      path: "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop",
    });
    await acting.cluster.clock.advance(600_000);
    await expect(acting.reconcile(old)).rejects.toMatchObject({ status: 404 });
    expect(acting.service.count("POST")).toBe(1);
  });
});

describe("a requested refresh", () => {
  test("a refresh that is asked for while a pass is under way is not answered by that pass", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.tools.stored = () => acting.compute();
    acting.answer = () => {
      acting.write([
        { op: "add", path: "/metadata/annotations", value: { "compute-operator.dev/reconcileRequestedAt": "now" } },
      ]);
      return json(201, { endpoint: endpoint({ name: signatureOfUID(self.metadata.uid) }), operations: [] });
    };
    const outcome = await acting.reconcile(self);
    const tools = { ...acting.tools, event: () => {}, isStopping: () => false };
    const handled = async (before: Compute) => {
      const [observed] = input({ compute: before });
      const { status } = await updateStatus(outcome, observed, { secret: undefined, unchecked: false }, tools);
      return status.lastHandledReconcileAt;
    };
    expect([await handled(self), await handled(acting.compute())]).toEqual([undefined, "now"]);
  });
});

describe("a deletion", () => {
  test("a deletion while the CRD itself is being deleted leaves also an endpoint that was made twice", async () => {
    const acting = new Acting({
      uninstalling: { now: () => Promise.resolve(true), lately: () => Promise.resolve(true) },
    });
    acting.stored({ metadata: { finalizers: ["compute-operator.dev/endpoint"] } });
    acting.cluster.server.handle({
      method: "DELETE",
      path: "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop",
    });
    const self = acting.compute();
    const twice = [madeBy(self), madeBy(self, { id: "ep-two" })];
    expect(await acting.reconcile(self, { endpoints: twice })).toMatchObject({ condition: { kind: "released" } });
    expect(acting.service.requests).toEqual([]);
  });
});

test("nothing is sent to an endpoint while a write of another Compute is under way to it, whatever becomes of that", async () => {
  const { acting, self, seen } = standing({ passwordlessAccess: true });
  const other = acting.access.lister.underWay;
  other.add("ep-one");
  const differing = seen({ passwordless_access: false });
  expect(await acting.reconcile(self, differing)).toMatchObject({
    condition: { kind: "unchanged" },
    requeue: { ms: soonMs },
  });
  expect(acting.effects).toEqual([]);
  other.clear();
  acting.answer = () => {
    expect([...other]).toEqual(["ep-one"]);
    return Promise.reject(new NoResponseError("reset"));
  };
  await acting.reconcile(self, differing);
  expect([acting.effects.length, other.size]).toEqual([1, 0]);
});
