import { describe, expect, test } from "vitest";
import { endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, msOf, settled } from "./executing.ts";

describe("the own GET of an endpoint that lists lack", () => {
  const action = { kind: "confirmDeletion", endpointID: "ep-one" } as const;

  function missing({ deleting = false } = {}) {
    const acting = new Acting();
    acting.stored({ metadata: linked, status: settled });
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop";
    if (deleting) acting.cluster.server.handle({ method: "DELETE", path });
    const known = acting.remember({
      missing: { id: "ep-one", since: 0, proved: false },
    });
    return { acting, known, self: acting.compute() };
  }

  test("a GET that is answered 404 proves the endpoint lost", async () => {
    const { acting, known, self } = missing();
    acting.answer = () => refusal(404, "endpoint not found");
    const outcome = await acting.execute({ ...action, after: "lost" }, self);
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, requeue: { ms: 1 } });
    expect(known).toMatchObject({ missing: { id: "ep-one", proved: true } });
    expect(known.deletes.size).toBe(0);
  });

  test("a GET after a DELETE proves that done", async () => {
    const { acting, known, self } = missing({ deleting: true });
    acting.answer = () => refusal(404, "endpoint not found");
    await acting.execute({ ...action, after: "deleted" }, self);
    expect(known).toMatchObject({ missing: { proved: false } });
    expect(known.deletes.get("ep-one")).toMatchObject({ proved: true });
  });

  test("a GET that shows the endpoint takes nothing for proved: only lists begun after it count", async () => {
    const { acting, known, self } = missing();
    await acting.cluster.clock.advance(500);
    acting.answer = () => json(200, { endpoint: endpoint() });
    const outcome = await acting.execute({ ...action, after: "lost" }, self);
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, requeue: { ms: 5000 } });
    expect([known.lists.countAfter, known.deletes.size]).toEqual([500, 0]);
    // It is asked for again ten seconds after that, and ever later.
    expect(known.missing).toMatchObject({ since: 5500, proved: false });
    expect(msOf(await acting.execute({ ...action, after: "lost" }, self))).toBe(10_000);
  });

  test("a GET that shows the endpoint while a deletion waits is reported", async () => {
    const { acting, self } = missing({ deleting: true });
    acting.answer = () => json(200, { endpoint: endpoint() });
    const { condition } = await acting.execute({ ...action, after: "lost" }, self);
    expect(condition).toMatchObject({ reason: "Deleting", message: expect.stringContaining("does not list") });
  });

  test("a GET that shows the endpoint after its DELETE is repeated ever later", async () => {
    const { acting, known, self } = missing({ deleting: true });
    acting.answer = () => json(200, { endpoint: endpoint() });
    const waits = [];
    for (const _ of [1, 2, 3]) waits.push(msOf(await acting.execute({ ...action, after: "deleted" }, self)));
    expect(waits).toEqual([1000, 2000, 4000]);
    expect(known.deletes.get("ep-one")).toMatchObject({ proved: false, shown: 3 });
  });

  test("a GET that was not sent because key or address had changed is planned again without an event", async () => {
    const acting = new Acting({}, { retired: AbortSignal.abort() });
    const self = acting.stored({ metadata: linked, status: settled });
    expect(await acting.execute({ ...action, after: "lost" }, self)).toMatchObject({
      condition: { kind: "unchanged" },
      requeue: { ms: 1 },
    });
  });
});
