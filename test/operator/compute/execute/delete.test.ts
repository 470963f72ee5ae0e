import { describe, expect, test } from "vitest";
import type { Brake } from "../../../../src/operator/project/gate.ts";
import { endpoint, madeBy } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, settled } from "./executing.ts";

const crd = (ask: () => Promise<boolean>) => ({ now: ask, lately: ask });

/** A brake that is exhausted for good. */
const holding: Brake = { mayGo: () => false, isExhausted: true, count: () => {}, sent: () => {}, leave: () => {} };

describe("a deletion", () => {
  function leaving(tools: Partial<Acting["tools"]> = {}, brake?: Brake) {
    const acting = new Acting(tools, {}, brake);
    acting.stored({ metadata: linked, status: settled });
    acting.cluster.server.handle({
      method: "DELETE",
      path: "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop",
    });
    const self = acting.compute();
    return { acting, self, seen: { endpoints: [madeBy(self)] } };
  }

  test("a deletion is one DELETE, the endpoint's own GET, and only then the finalizer", async () => {
    const { acting, self, seen } = leaving();
    acting.answer = (what) =>
      what.startsWith("GET") ? refusal(404) : json(200, { endpoint: endpoint(), operations: [] });
    await acting.reconcile(self, seen);
    await acting.reconcile(self);
    const outcome = await acting.reconcile(self);
    expect(acting.effects).toEqual([
      "DELETE service/endpoints/ep-one",
      "GET service/endpoints/ep-one",
      "PATCH computes/shop",
    ]);
    expect(outcome).toMatchObject({ condition: { kind: "released" }, events: [{ reason: "Deleted" }] });
    expect(() => acting.compute()).toThrow(/metadata/);
  });

  test("a deletion while the CRD itself is being deleted lets go, and deletes nothing", async () => {
    const { acting, self, seen } = leaving({ uninstalling: crd(() => Promise.resolve(true)) });
    expect(await acting.reconcile(self, seen)).toMatchObject({
      condition: { kind: "released" },
      events: [{ reason: "Released" }],
    });
    expect(acting.effects).toEqual(["PATCH computes/shop"]);
  });

  test("deletes nothing while it is not known whether the CRD is being deleted, and goes on once it is", async () => {
    let isAnswered = false;
    const ask = () => (isAnswered ? Promise.resolve(false) : Promise.reject(new Error("no answer")));
    const { acting, self, seen } = leaving({ uninstalling: crd(ask) });
    await expect(acting.reconcile(self, seen)).rejects.toThrow("no answer");
    expect([acting.effects, acting.access.lister.underWay.size]).toEqual([[], 0]);
    isAnswered = true;
    await acting.reconcile(self, seen);
    expect(acting.effects).toEqual(["DELETE service/endpoints/ep-one"]);
  });

  test("a deletion that the brake holds back reads nothing but, once for all, whether the CRD goes, and is then let go", async () => {
    const asked: string[] = [];
    const going = { now: async () => asked.push("now") > 0, lately: async () => asked.push("lately") > 0 };
    const { acting, self, seen } = leaving({ uninstalling: going }, holding);
    expect(await acting.reconcile(self, seen)).toMatchObject({ condition: { kind: "released" } });
    expect(asked).toEqual(["lately"]);
  });

  test("a deletion beyond what the brake lets out waits, and tells it once", async () => {
    const { acting, self, seen } = leaving({}, holding);
    await acting.cluster.clock.advance(3000);
    const first = await acting.reconcile(self, seen);
    expect(first).toMatchObject({
      condition: { reason: "Deleting" },
      events: [{ type: "Warning" }],
      requeue: { kind: "enqueued" },
    });
    const message = first.condition.kind === "shown" ? first.condition.message : "";
    const conditions = [
      { type: "Ready", status: "False", reason: "Deleting", message, lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const reported = { ...self, status: { ...self.status, conditions } };
    expect(await acting.reconcile(reported, seen)).toMatchObject({ condition: { kind: "unchanged" }, events: [] });
    expect(acting.effects).toEqual([]);
  });

  test.each([401, 403, 404, 422, 423, 500, 503])(
    "a deletion that the service answers with %i releases nothing",
    async (status) => {
      const { acting, self, seen } = leaving();
      acting.answer = () => refusal(status);
      expect((await acting.reconcile(self, seen)).condition.kind).not.toBe("released");
      expect(acting.compute().metadata.finalizers).toEqual(["compute-operator.dev/endpoint"]);
    },
  );

  test.each([401, 403, 500, 503])("a deletion is not proved by a GET that is answered with %i", async (status) => {
    const { acting, self, seen } = leaving();
    acting.answer = (what) => (what.startsWith("GET") ? refusal(status) : json(200, { endpoint: endpoint() }));
    await acting.reconcile(self, seen);
    await acting.reconcile(self);
    expect(acting.tools.state.known.deletes.get("ep-one")?.proved).toBe(false);
  });
});
