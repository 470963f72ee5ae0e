import { describe, expect, test } from "vitest";
import { deleteEndpoint } from "../../../../src/operator/compute/execute/delete.ts";
import { endpoint, operation } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, settled } from "./executing.ts";

const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop";

function deleting(tools: Partial<Acting["tools"]> = {}, { leaving = true } = {}) {
  const acting = new Acting(tools);
  acting.stored({ metadata: linked, status: settled });
  if (leaving) acting.cluster.server.handle({ method: "DELETE", path });
  acting.answer = (what) =>
    json(200, { endpoint: endpoint({ id: what.split("/").at(-1) ?? "" }), operations: [operation()] });
  const self = acting.compute();
  const send = (why: "deleted" | "duplicate", endpointID = "ep-one", signature?: string) => {
    const action = { kind: "delete", endpointID, why, ...(signature === undefined ? {} : { signature }) } as const;
    return deleteEndpoint(action, acting.context(self), acting.access);
  };
  const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;
  return { acting, known: acting.remember({ failedWrite }), send };
}

describe("of a deletion is remembered", () => {
  test("the time of a deletion's answer is remembered, for every Compute with the same link, and its operations", async () => {
    const { acting, known, send } = deleting();
    await acting.cluster.clock.advance(700);
    const { condition } = await send("deleted");
    expect(known.lists.countAfter).toBe(700);
    expect(known.deletes.get("ep-one")).toEqual({ at: 700, before: 0, accepted: true, proved: false, shown: 0 });
    expect(known.failedWrite).toBeUndefined();
    expect(acting.access.lister.writtenAt("ep-one")).toBe(700);
    expect(acting.access.lister.operations.followed.writesRunningAt(0)).toBe(1);
    expect(condition).toMatchObject({ reason: "Deleting", message: expect.stringContaining("was deleted") });
  });

  test("the number of earlier answers to a deletion is remembered: an endpoint that is still listed is reported as such", async () => {
    const { acting, known, send } = deleting();
    await send("deleted");
    const { condition } = await send("deleted");
    await send("deleted");
    expect(known.deletes.get("ep-one")?.before).toBe(2);
    expect(acting.service.count("DELETE")).toBe(3);
    expect(condition).toMatchObject({ message: expect.stringContaining("still lists endpoint ep-one") });
  });

  test("a 404 to a deletion is remembered as an answer, and as no proof: the answer may lag behind", async () => {
    const { acting, known, send } = deleting();
    acting.answer = () => refusal(404, "endpoint not found");
    expect(await send("deleted")).toMatchObject({ condition: { reason: "Deleting" } });
    expect(known.deletes.get("ep-one")).toMatchObject({ before: 0, accepted: false });
  });

  test("a failed deletion is remembered, with another way to delete the Compute if waiting does not help", async () => {
    const [forbidden, locked] = [deleting(), deleting()];
    forbidden.acting.answer = () => refusal(403);
    locked.acting.answer = () => refusal(423);
    const message = async ({ send }: typeof locked) => {
      const { condition } = await send("deleted");
      return condition.kind === "shown" ? condition.message : "";
    };
    expect(await message(forbidden)).toContain("set spec.deletionPolicy to Retain");
    expect(await message(locked)).not.toContain("Retain");
    expect(locked.known.deletes.size).toBe(0);
  });
});

describe("an endpoint of ours that is too many", () => {
  test("an endpoint that is too many is reported when its deletion was answered, and only once", async () => {
    const { known, send } = deleting({}, { leaving: false });
    const warning = [{ type: "Warning", reason: "Deleted" }];
    expect(await send("duplicate", "ep-two")).toMatchObject({
      requeue: { ms: 500 },
      events: warning,
      condition: { kind: "unchanged" },
    });
    expect(await send("duplicate", "ep-two")).toMatchObject({ requeue: { ms: 500 }, events: [] });
    // It is not the Compute's own, whose deletion alone such an answer begins to prove.
    expect(known.deletes.get("ep-two")).toMatchObject({ before: 1, accepted: false });
  });

  test("an endpoint that was already gone is not reported", async () => {
    const { acting, send } = deleting({}, { leaving: false });
    acting.answer = () => refusal(404, "endpoint not found");
    expect(await send("duplicate", "ep-two")).toMatchObject({ events: [], condition: { kind: "unchanged" } });
  });

  test("an endpoint that is too many is deleted without asking whether the CRD goes, as long as its Compute stays", async () => {
    const asked = () => Promise.reject(new Error("asked"));
    const uninstalling = { now: asked, lately: asked };
    const { acting, send } = deleting({ uninstalling }, { leaving: false });
    await send("duplicate", "ep-two");
    expect(acting.service.count("DELETE")).toBe(1);
  });
});

describe("an endpoint that another cluster of the fleet may have signed", () => {
  const signature = "k8s-3f2a91bc-0123456789abcdef-00000000000000000000000000000001";
  const answering = (get: () => ReturnType<typeof json>) => {
    const all = deleting();
    all.acting.answer = (what) =>
      what.startsWith("GET") ? get() : json(200, { endpoint: endpoint(), operations: [] });
    return all;
  };

  test.each([
    ["shows our signature", () => json(200, { endpoint: endpoint({ name: signature }) })],
    ["shows no name", () => json(200, { endpoint: endpoint() })],
    ["says that it is gone", () => refusal(404)],
  ])("an endpoint that another cluster may have signed is deleted if its own GET %s", async (_, get) => {
    const { acting, send } = answering(get);
    expect(await send("deleted", "ep-one", signature)).toMatchObject({ condition: { reason: "Deleting" } });
    expect([acting.service.count("GET"), acting.service.count("DELETE")]).toEqual([1, 1]);
  });

  test("stays if its own GET shows another name, and the next plan needs a newer list", async () => {
    const { acting, known, send } = answering(() => json(200, { endpoint: endpoint({ name: "k8s-another" }) }));
    await acting.cluster.clock.advance(700);
    expect(await send("deleted", "ep-one", signature)).toMatchObject({ condition: { kind: "unchanged" } });
    expect(acting.service.count("DELETE")).toBe(0);
    expect(known.lists.countAfter).toBe(700);
    expect(known.deletes.size).toBe(0);
  });

  test("stays while its own GET fails, and that is reported", async () => {
    const { acting, send } = answering(() => refusal(500));
    const { condition } = await send("deleted", "ep-one", signature);
    expect(condition).toMatchObject({ kind: "shown", reason: "ServiceUnavailable" });
    expect(acting.service.count("DELETE")).toBe(0);
  });
});
