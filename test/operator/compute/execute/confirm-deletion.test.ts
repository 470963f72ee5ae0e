import { describe, expect, test } from "vitest";
import { endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, msOf, settled } from "./executing.ts";

describe("the own GET of an endpoint that lists lack", () => {
  const action = { kind: "confirmDeletion", endpointID: "ep-one" } as const;

  function missing({ deleting = false, proved = "ep-one" } = {}) {
    const acting = new Acting();
    acting.stored({ metadata: linked, status: settled });
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop";
    if (deleting) acting.cluster.server.handle({ method: "DELETE", path });
    const known = acting.remember({
      missing: { endpointID: "ep-one", firstListWithout: 0, proved: false },
      proved: { endpointID: proved, proof: "marker" },
    });
    return { acting, known, self: acting.compute() };
  }

  test("that is answered 404 proves it lost, and nothing is put back from memory any more", async () => {
    const { acting, known, self } = missing();
    acting.answer = () => refusal(404, "endpoint not found");
    const outcome = await acting.execute({ ...action, after: "lost" }, self);
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, requeue: { ms: 1 } });
    expect(known).toMatchObject({ missing: { endpointID: "ep-one", proved: true } });
    expect([known.proved, known.deleted]).toEqual([undefined, undefined]);
  });

  test("after a DELETE proves that done, and leaves what is known of another endpoint", async () => {
    const { acting, known, self } = missing({ deleting: true, proved: "ep-two" });
    acting.answer = () => refusal(404, "endpoint not found");
    await acting.execute({ ...action, after: "deleted" }, self);
    expect(known).toMatchObject({
      deleted: { proved: true },
      missing: { proved: false },
      proved: { endpointID: "ep-two" },
    });
  });

  test("that shows it takes nothing for proved: only lists begun after it count", async () => {
    const { acting, known, self } = missing();
    await acting.cluster.clock.advance(500);
    acting.answer = () => json(200, { endpoint: endpoint() });
    const outcome = await acting.execute({ ...action, after: "lost" }, self);
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, requeue: { ms: 5000 } });
    expect([known.listsCountAfter, known.deleted]).toEqual([500, undefined]);
    // It is asked for again ten seconds after that, and ever later.
    expect(known.missing).toMatchObject({ firstListWithout: 5500, proved: false });
    expect(msOf(await acting.execute({ ...action, after: "lost" }, self))).toBe(10_000);
  });

  test("that shows it while a deletion waits is reported", async () => {
    const { acting, self } = missing({ deleting: true });
    acting.answer = () => json(200, { endpoint: endpoint() });
    const { condition } = await acting.execute({ ...action, after: "lost" }, self);
    expect(condition).toMatchObject({ reason: "Deleting", message: expect.stringContaining("does not list") });
  });

  test("that shows it after its DELETE is repeated ever later", async () => {
    const { acting, known, self } = missing({ deleting: true });
    acting.answer = () => json(200, { endpoint: endpoint() });
    const waits = [];
    for (const _ of [1, 2, 3]) waits.push(msOf(await acting.execute({ ...action, after: "deleted" }, self)));
    expect(waits).toEqual([1000, 2000, 4000]);
    expect(known.deleted).toEqual({ endpointID: "ep-one", proved: false, shown: 3 });
  });

  test("that was not sent because key or address had changed is planned again without an event", async () => {
    const acting = new Acting({}, { retired: AbortSignal.abort() });
    const self = acting.stored({ metadata: linked, status: settled });
    expect(await acting.execute({ ...action, after: "lost" }, self)).toMatchObject({
      condition: { kind: "unchanged" },
      requeue: { ms: 1 },
    });
  });
});
