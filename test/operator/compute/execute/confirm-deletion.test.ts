import { describe, expect, test } from "vitest";
import { execute } from "../../../../src/operator/compute/execute/execute.ts";
import { endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, settled } from "./executing.ts";

describe("the own GET of an endpoint that lists lack", () => {
  const action = { kind: "confirmDeletion", endpointID: "ep-one" } as const;

  function missing({ deleting = false } = {}) {
    const acting = new Acting();
    acting.stored({ metadata: linked, status: settled });
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop";
    if (deleting) acting.cluster.server.handle({ method: "DELETE", path });
    const { memory } = acting.hands;
    memory.missing = { endpointID: "ep-one", firstListWithout: 0, proved: false };
    memory.proved = { endpointID: "ep-one", proof: "marker" };
    return { acting, memory, self: acting.compute() };
  }

  test("that is answered 404 proves it lost, and nothing is put back from memory any more", async () => {
    const { acting, memory, self } = missing();
    acting.answer = () => refusal(404, "endpoint not found");
    const outcome = await execute({ ...action, after: "lost" }, self, acting.hands, acting.hands);
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, requeueAfterMs: 1 });
    expect(memory).toMatchObject({ missing: { endpointID: "ep-one", proved: true } });
    expect([memory.proved, memory.deleted]).toEqual([undefined, undefined]);
  });

  test("after a DELETE proves that done, and leaves what is known of another endpoint", async () => {
    const { acting, memory, self } = missing({ deleting: true });
    memory.proved = { endpointID: "ep-two", proof: "marker" };
    acting.answer = () => refusal(404, "endpoint not found");
    await execute({ ...action, after: "deleted" }, self, acting.hands, acting.hands);
    expect(memory).toMatchObject({
      deleted: { proved: true },
      missing: { proved: false },
      proved: { endpointID: "ep-two" },
    });
  });

  test("that shows it takes nothing for proved: only lists begun after it count", async () => {
    const { acting, memory, self } = missing();
    await acting.cluster.clock.advance(500);
    acting.answer = () => json(200, { endpoint: endpoint() });
    const outcome = await execute({ ...action, after: "lost" }, self, acting.hands, acting.hands);
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, requeueAfterMs: 1000 });
    expect([memory.missing, memory.listsCountAfter, memory.deleted]).toEqual([undefined, 500, undefined]);
  });

  test("that shows it while a deletion waits is told", async () => {
    const { acting, self } = missing({ deleting: true });
    acting.answer = () => json(200, { endpoint: endpoint() });
    const { condition } = await execute({ ...action, after: "lost" }, self, acting.hands, acting.hands);
    expect(condition).toMatchObject({ reason: "Deleting", message: expect.stringContaining("does not list") });
  });

  test("that shows it after its DELETE is repeated ever later", async () => {
    const { acting, memory, self } = missing({ deleting: true });
    acting.answer = () => json(200, { endpoint: endpoint() });
    const waits = [];
    for (const _ of [1, 2, 3])
      waits.push((await execute({ ...action, after: "deleted" }, self, acting.hands, acting.hands)).requeueAfterMs);
    expect(waits).toEqual([1000, 2000, 4000]);
    expect(memory.deleted).toEqual({ endpointID: "ep-one", proved: false, shown: 3 });
  });

  test("that was not sent because key or address had changed is planned again without an event", async () => {
    const acting = new Acting({}, { retired: AbortSignal.abort() });
    const self = acting.stored({ metadata: linked, status: settled });
    expect(await execute({ ...action, after: "lost" }, self, acting.hands, acting.hands)).toMatchObject({
      condition: { kind: "unchanged" },
      requeueAfterMs: 1,
    });
  });
});
