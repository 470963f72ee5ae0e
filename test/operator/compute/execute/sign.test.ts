import { describe, expect, test } from "vitest";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, msOf, settled } from "./executing.ts";

type Sign = Extract<Action, { kind: "sign" }>;

const name = "k8s-3f2a91bc-0123456789abcdef-00000000000000000000000000000000";
const taking: Sign = { kind: "sign", endpointID: "ep-one", name, takesOver: true };
const renewing: Sign = { ...taking, takesOver: false };
const accepted = json(200, { endpoint: endpoint({ name }), operations: [] });

describe("a signature over a former Compute's", () => {
  function unlinked(metadata: object = {}) {
    const acting = new Acting();
    const self = acting.stored({ metadata, spec: { adopt: { former: true } } });
    acting.answer = () => accepted;
    return { acting, self };
  }

  test("a takeover is record and finalizer, then one PATCH of the name, and open until lists show it", async () => {
    const { acting, self } = unlinked();
    const outcome = await acting.execute(taking, self);
    expect(acting.effects).toEqual([
      "PATCH computes/shop/status",
      "PATCH computes/shop",
      "PATCH service/endpoints/ep-one",
    ]);
    expect(acting.service.requests.at(-1)?.body).toEqual({ endpoint: { name } });
    expect(acting.compute().metadata.finalizers).toEqual(["compute-operator.dev/endpoint"]);
    expect(outcome).toMatchObject({ condition: { kind: "shown", reason: "Updating" } });
    expect(outcome.compute.metadata.finalizers).toEqual(["compute-operator.dev/endpoint"]);
    expect(acting.tools.state.known.write).toMatchObject({ phase: "open", made: "ep-one" });
  });

  test("a takeover is recorded before it is sent, with the base URL that it goes to", async () => {
    const { acting, self } = unlinked();
    const record = { operation: "takeover", endpointID: "ep-one", through: acting.access.client.account.baseURL };
    acting.answer = () => {
      expect(acting.compute().status.pendingWrite).toMatchObject(record);
      return accepted;
    };
    await acting.execute(taking, self);
    expect(acting.service.count("PATCH")).toBe(1);
    expect(acting.compute().status.pendingWrite).toMatchObject(record);
  });

  test("a takeover is not laid over the lists, which alone prove that nobody signed it since", async () => {
    const { acting, self } = unlinked();
    await acting.cluster.clock.advance(1000);
    await acting.execute(taking, self);
    expect(acting.tools.state.known.lists.laidOver).toBeUndefined();
    expect(acting.tools.state.known.lists.countAfter).toBeGreaterThanOrEqual(1000);
  });

  test.each([
    ["the Compute", {}],
    // A patch that creates no list tests the version only if it is asked to.
    ["a Compute with another finalizer", { finalizers: ["example.com/other"] }],
  ])("sends nothing where %s has changed since", async (_, metadata) => {
    const { acting, self } = unlinked(metadata);
    acting.write([{ op: "replace", path: "/spec/adopt", value: { endpointID: "ep-other" } }]);
    await expect(acting.execute(taking, self)).rejects.toThrow(/\S/);
    expect(acting.service.requests).toEqual([]);
  });

  test("a takeover without an answer is open too", async () => {
    const { acting, self } = unlinked();
    acting.answer = () => refusal(500);
    await acting.execute(taking, self);
    expect(acting.tools.state.known.write).toMatchObject({ phase: "open" });
    expect(acting.tools.state.known.write).not.toHaveProperty("made");
  });

  test("a refused takeover is a failed write, and nothing of it is open", async () => {
    const { acting, self } = unlinked();
    acting.answer = () => refusal(403);
    const outcome = await acting.execute(taking, self);
    expect(outcome).toMatchObject({
      condition: { kind: "shown", reason: "Forbidden", message: expect.stringContaining("ep-one") },
    });
    expect(acting.tools.state.known.failedWrite).toBeDefined();
    expect(acting.tools.state.known.write).toMatchObject({ phase: "unsent" });
  });

  test("an accepted takeover ends the failures before it", async () => {
    const { acting, self } = unlinked();
    acting.answer = () => refusal(403);
    await acting.execute(taking, self);
    acting.answer = () => accepted;
    await acting.execute(taking, acting.compute());
    expect(acting.tools.state.known.failedWrite).toBeUndefined();
  });
});

describe("a signature that is renewed", () => {
  function standing() {
    const acting = new Acting();
    const self = acting.stored({ metadata: linked, status: settled });
    acting.answer = () => accepted;
    return { acting, self };
  }

  test("a renewed signature is one PATCH of the name, laid over the lists, and leaves the conditions", async () => {
    const { acting, self } = standing();
    const now = acting.tools.clock.monotonic();
    const outcome = await acting.execute(renewing, self);
    expect(acting.effects).toEqual(["PATCH service/endpoints/ep-one"]);
    expect(acting.service.requests.at(-1)?.body).toEqual({ endpoint: { name } });
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" } });
    expect(msOf(outcome)).toBeUndefined();
    expect(acting.tools.state.known.lists.laidOver).toBeDefined();
    expect(acting.tools.state.known.signed).toEqual({ endpointID: "ep-one", renewAt: now + 3_600_000 });
  });

  test("a renewal without a usable answer needs lists from after it, also for another Compute with the same link", async () => {
    const { acting, self } = standing();
    acting.answer = () => refusal(500);
    await acting.cluster.clock.advance(700);
    await acting.execute(renewing, self);
    expect(acting.tools.state.known.lists.countAfter).toBe(700);
    expect(acting.access.lister.writtenAt("ep-one")).toBe(700);
  });

  test("a refused renewal leaves the conditions too, and is tried again after ten minutes", async () => {
    const { acting, self } = standing();
    acting.answer = () => refusal(403);
    const first = await acting.execute(renewing, self);
    expect(first).toMatchObject({ condition: { kind: "unchanged" } });
    expect(msOf(first)).toBe(600_000);
    expect(acting.tools.state.known.failedWrite).toBeUndefined();
    const renewAt = acting.tools.clock.monotonic() + 600_000;
    const failure = expect.objectContaining({ kind: "forbidden" });
    expect(acting.tools.state.known.signed).toEqual({ endpointID: "ep-one", renewAt, failure });
  });
});
