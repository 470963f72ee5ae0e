import { describe, expect, test } from "vitest";
import { pendingRestartOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { updateStatus } from "../../../../src/operator/compute/update-status.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { markerOf } from "../../../../src/operator/resources/signature.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { endpoint, input, madeBy } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, standing } from "./executing.ts";

describe("a create", () => {
  test("does not count as the newer spec that was written while it was under way", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.answer = () => {
      acting.write([{ op: "add", path: "/spec/disabled", value: true }]);
      return json(201, { endpoint: endpoint({ name: markerOf(self.metadata.uid) }), operations: [] });
    };
    const outcome = await acting.reconcile(self);
    expect(outcome.compute.metadata.generation).toBe(2);
    expect(outcome.effect).toMatchObject({ kind: "accepted", generation: 1 });
  });

  // A primary's note is written again before the second POST; a replica's stays.
  test.each(["read_write", "read_only"])(
    "of a %s is not sent again for a Compute that is long gone, though an old view shows it with its mark",
    async (type) => {
      const acting = new Acting();
      const self = acting.stored({ spec: { type } });
      acting.answer = () => Promise.reject(new NoResponseError("reset"));
      await acting.reconcile(self);
      const old = acting.compute();
      acting.write([{ op: "replace", path: "/metadata/finalizers", value: [] }]);
      acting.cluster.server.handle({
        method: "DELETE",
        path: "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop",
      });
      const { state, clock } = acting.tools;
      const { pendingCreate } = state.known;
      if (pendingCreate === undefined) throw new Error("no create is pending");
      acting.remember({ pendingCreate: { ...pendingCreate, firstListWithout: clock.monotonic() } });
      await acting.cluster.clock.advance(600_000);
      await expect(acting.reconcile(old, { list: { startedAt: clock.monotonic() } })).rejects.toMatchObject({
        status: 404,
      });
      expect(acting.service.count("POST")).toBe(1);
    },
  );
});

describe("a requested refresh", () => {
  test("that is asked for while a pass is under way is not answered by that pass", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.answer = () => {
      acting.write([
        { op: "add", path: "/metadata/annotations/compute-operator.dev~1reconcileRequestedAt", value: "now" },
      ]);
      return json(201, { endpoint: endpoint({ name: markerOf(self.metadata.uid) }), operations: [] });
    };
    const outcome = await acting.reconcile(self);
    const tools = { ...acting.tools, event: () => {} };
    const handled = async (before: Compute) => {
      const [observed] = input({ compute: before });
      const { status } = await updateStatus(outcome, observed, { binding: undefined, unchecked: false }, tools);
      return status.lastHandledReconcileAt;
    };
    expect([await handled(self), await handled(acting.compute())]).toEqual([undefined, "now"]);
  });
});

describe("a deletion", () => {
  test("while the CRD itself is being deleted leaves also an endpoint that was made twice", async () => {
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

describe("a restart", () => {
  test.each([
    [404, "that cannot learn what came before, since the service does not show it, says so in its mark", true],
    [503, "is not sent before it is known what came before", false],
  ])("at a service that answers %i %s", async (status, _, marked) => {
    const acting = new Acting();
    const self = acting.stored({
      metadata: {
        annotations: { "compute-operator.dev/endpoint-id": "ep-one", "compute-operator.dev/restartedAt": "now" },
        finalizers: ["compute-operator.dev/endpoint"],
      },
      status: { observedGeneration: 1, appliedGeneration: 1, observedThrough: "here", endpointID: "ep-one" },
    });
    acting.answer = (what) => (what.startsWith("GET") ? refusal(status) : Promise.reject(new NoResponseError("reset")));
    await acting.reconcile(self, { endpoints: [madeBy(self)] });
    expect(pendingRestartOf(acting.compute())?.value).toBe(marked ? "now" : undefined);
    expect(pendingRestartOf(acting.compute())?.newestOperation).toBeUndefined();
    expect(acting.effects.some((effect) => effect.startsWith("POST"))).toBe(marked);
  });
});

test("a create that was not sent, since key or address had just changed, leaves no mark and holds nothing back", async () => {
  const acting = new Acting({}, { retired: AbortSignal.abort() });
  const self = acting.stored();
  expect(await acting.reconcile(self)).toMatchObject({
    condition: { kind: "unchanged" },
    requeue: { ms: 1 },
    events: [],
  });
  expect(acting.effects).toEqual(["PATCH computes/shop", "PATCH computes/shop"]);
  expect(acting.annotation("pending-create")).toBeUndefined();
  expect(acting.tools.state.known.failedWrite).toBeUndefined();
});

test("nothing is sent to an endpoint while a write of another Compute is under way to it, whatever becomes of that", async () => {
  const { acting, self, seen } = standing({ passwordlessAccess: true });
  const other = acting.access.lister.underWay;
  other.add("ep-one");
  const differing = seen({ passwordless_access: false });
  expect(await acting.reconcile(self, differing)).toMatchObject({
    condition: { kind: "unchanged" },
    requeue: { ms: 1000 },
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
