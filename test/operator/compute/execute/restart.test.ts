import { describe, expect, test } from "vitest";
import { restartEndpoint } from "../../../../src/operator/compute/execute/restart.ts";
import { pendingRestartOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { endpoint, operation } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { type Acting, standing } from "./executing.ts";

describe("a restart", () => {
  const asked = { "compute-operator.dev/restartedAt": "now" };

  test("is mark, then POST, and the value is done", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) =>
      what.startsWith("GET")
        ? json(200, { operations: [operation({ created_at: "2026-01-01T09:00:00Z" })] })
        : json(200, { endpoint: endpoint(), operations: [] });
    const outcome = await acting.reconcile(self, seen());
    expect(acting.effects).toEqual([
      "GET service/operations",
      "PATCH computes/shop",
      "POST service/endpoints/ep-one/restart",
    ]);
    expect(pendingRestartOf(acting.compute())).toMatchObject({ value: "now", newestOperation: "2026-01-01T09:00:00Z" });
    expect(outcome).toMatchObject({ effect: { kind: "restarted", value: "now" }, condition: { reason: "Restarting" } });
  });

  const over = { status: "finished", created_at: "2026-01-01T08:00:00Z", updated_at: "2026-01-01T08:00:01Z" };
  const later = { ...over, updated_at: "2026-01-01T08:00:02Z" };
  test.each([
    ["there was none", [], ""],
    ["all were over", [over, later, over], later.updated_at],
    ["one was under way", [over, { ...later, status: "running" }], undefined],
    ["one has no time", [over, { ...over, updated_at: undefined }], undefined],
  ])("events since when no operation was under way: %s", async (_, operations, restedSince) => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) =>
      what.startsWith("GET") ? json(200, { operations: operations.map(operation) }) : refusal(502);
    await acting.reconcile(self, seen());
    expect(pendingRestartOf(acting.compute())?.restedSince).toBe(restedSince);
  });

  test("that was refused while the compute's state could not be read is reconciled again soon", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) => {
      if (what.startsWith("POST")) return refusal(409);
      return what.includes("operations") ? json(200, { operations: [] }) : refusal(503);
    };
    expect(await acting.reconcile(self, seen())).toMatchObject({
      condition: { reason: "ServiceUnavailable" },
      requeue: { ms: 1000 },
    });
  });

  const markedBefore = (acting: Acting) => {
    const mark = { uid: acting.compute().metadata.uid, since: "2026-01-01T09:30:00Z", value: "now" };
    const path = "/metadata/annotations/compute-operator.dev~1pending-restart";
    acting.write([{ op: "add", path, value: JSON.stringify({ ...mark, newestOperation: over.created_at }) }]);
    return acting.compute();
  };

  test("that shows in the operations, which could not be read for the plan, is done and not sent again", async () => {
    const { acting, seen } = standing({}, asked);
    const self = markedBefore(acting);
    const pair = ["suspend_compute", "start_compute"].map((action) =>
      operation({ ...later, action, created_at: "2026-01-01T09:00:00Z" }),
    );
    acting.answer = () => json(200, { operations: pair });
    expect(await acting.reconcile(self, seen())).toMatchObject({
      effect: { kind: "restarted", value: "now" },
      events: [{ reason: "Restarted" }],
    });
    expect(acting.effects).toEqual(["GET service/operations"]);
    // Where only its status could not be written, it is done again and told once.
    expect(await acting.reconcile(self, seen())).toMatchObject({ effect: { kind: "restarted" }, events: [] });
  });

  test("that was refused keeps the mark of one before it whose reply was lost: that may be what is in the way", async () => {
    const { acting, seen } = standing({}, asked);
    const self = markedBefore(acting);
    acting.answer = (what) => (what.startsWith("GET") ? json(200, { operations: [] }) : refusal(423));
    await acting.reconcile(self, seen());
    const name = "compute-operator.dev/pending-restart";
    expect(acting.annotation("pending-restart")).toBe(self.metadata.annotations?.[name]);
  });

  test("without answer keeps its mark; one that was refused loses it", async () => {
    for (const [answer, kept] of [
      [() => refusal(502), true],
      [() => refusal(423), false],
    ] as const) {
      const { acting, self, seen } = standing({}, asked);
      acting.answer = (what) => (what.startsWith("GET") ? json(200, { operations: [] }) : answer());
      const outcome = await acting.reconcile(self, seen());
      expect(outcome.effect.kind).toBe("none");
      expect(pendingRestartOf(acting.compute()) !== undefined).toBe(kept);
    }
  });

  const idle = { current_state: "idle" } as const;
  test.each<[string, number | object, object | undefined, boolean]>([
    ["idle", idle, {}, true],
    ["disabled, in whatever state", { disabled: true }, {}, true],
    ["running", {}, idle, false],
    ["idle and waking", { ...idle, pending_state: "active" }, {}, false],
    ["idle in the list, if single endpoints cannot be read", 404, idle, true],
    ["running in the list, if single endpoints cannot be read", 404, {}, false],
    ["shown nowhere", 404, undefined, false],
  ])("that is refused counts as done where the compute rests: %s", async (_, shown, listed, done) => {
    const { acting, self } = standing({}, asked);
    const { lister } = acting.access;
    const { state } = acting.tools;
    acting.answer = () => json(200, { endpoints: listed === undefined ? [] : [endpoint(listed)] });
    lister.use(self.metadata.uid, "ep-one");
    await acting.cluster.clock.advance(10);
    acting.answer = (what) => {
      if (what.startsWith("POST")) return refusal(409);
      if (what.includes("operations")) return json(200, { operations: [] });
      return typeof shown === "number"
        ? refusal(shown, "endpoint not found")
        : json(200, { endpoint: endpoint(shown) });
    };
    const action = { kind: "restart", endpointID: "ep-one", value: "now" } as const;
    const outcome = await restartEndpoint(action, acting.context(self), acting.access);
    expect([outcome.effect.kind, state.known.restarted]).toEqual(done ? ["restarted", "now"] : ["none", undefined]);
    expect(outcome).toMatchObject(done ? { condition: { kind: "unchanged" } } : { condition: { reason: "Rejected" } });
    expect(pendingRestartOf(acting.compute()) === undefined).toBe(!done);
  });

  test.each([403, 423])("that is answered %i does not ask whether the compute rests", async (status) => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) => (what.startsWith("POST") ? refusal(status) : json(200, { operations: [] }));
    await acting.reconcile(self, seen());
    expect(acting.effects.filter((effect) => effect.startsWith("GET"))).toEqual(["GET service/operations"]);
  });

  test("events when the compute was last seen to start, and goes by that where its reply is lost", async () => {
    const { acting, self } = standing({}, asked);
    const { lister } = acting.access;
    const showing = async (started_at: string) => {
      acting.answer = (what) => {
        if (what.endsWith("/endpoints"))
          return json(200, { endpoints: [endpoint({ id: "ep-other" }), endpoint({ started_at })] });
        return what.startsWith("GET") ? json(200, { operations: [] }) : refusal(502);
      };
      lister.use(self.metadata.uid, "ep-one");
      await acting.cluster.clock.advance(30_000);
    };
    const action = { kind: "restart", endpointID: "ep-one", value: "now" } as const;
    await showing("2026-01-01T08:00:00Z");
    await restartEndpoint(action, acting.context(self), acting.access);
    expect(pendingRestartOf(acting.compute())?.startedAt).toBe("2026-01-01T08:00:00Z");
    await showing("2026-01-01T09:00:00Z");
    expect(await restartEndpoint(action, acting.context(acting.compute()), acting.access)).toMatchObject({
      effect: { kind: "restarted", value: "now" },
    });
    expect(acting.service.count("POST")).toBe(1);
  });

  test("for another value is not taken for done by the mark of one before it", async () => {
    const { acting, seen } = standing({}, asked);
    markedBefore(acting);
    const other = { op: "add", path: "/metadata/annotations/compute-operator.dev~1restartedAt", value: "later" };
    acting.write([other]);
    const pair = ["suspend_compute", "start_compute"].map((action) =>
      operation({ ...later, action, created_at: "2026-01-01T09:00:00Z" }),
    );
    acting.answer = (what) =>
      what.startsWith("GET") ? json(200, { operations: pair }) : json(200, { endpoint: endpoint() });
    await acting.reconcile(acting.compute(), seen());
    expect(acting.service.count("POST")).toBe(1);
  });

  test("is not sent where a view still shows the mark of one that was refused, which is gone", async () => {
    const { acting, self } = standing({}, asked);
    let marked = self;
    acting.answer = (what) => {
      if (what.startsWith("GET")) return json(200, { operations: [] });
      marked = acting.compute();
      return refusal(423);
    };
    const action = { kind: "restart", endpointID: "ep-one", value: "now" } as const;
    await restartEndpoint(action, acting.context(self), acting.access);
    expect(pendingRestartOf(marked)).toBeDefined();
    expect(pendingRestartOf(acting.compute())).toBeUndefined();
    const again = restartEndpoint(action, acting.context(marked), acting.access);
    await expect(again).rejects.toMatchObject({ status: 422 });
    expect(acting.service.count("POST")).toBe(1);
  });

  test("is not sent from a stale view: the mark is guarded by the version seen", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
    acting.answer = () => json(200, { operations: [] });
    await expect(acting.reconcile(self, seen())).rejects.toMatchObject({ status: 422 });
    expect(acting.service.count("POST")).toBe(0);
  });
});
