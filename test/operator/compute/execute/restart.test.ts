import { describe, expect, test } from "vitest";
import { restartEndpoint } from "../../../../src/operator/compute/execute/restart.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { standing } from "./executing.ts";

describe("a restart", () => {
  const asked = { "compute-operator.dev/restartedAt": "now" };
  const [record, post] = ["PATCH computes/shop/status", "POST service/endpoints/ep-one/restart"];
  const started = { started_at: "2026-01-01T08:00:00Z" };

  test("a restart is record, then POST, and the value is done", async () => {
    const { acting, self, seen } = standing({}, asked);
    let before: unknown;
    acting.answer = () => {
      before = acting.compute().status.pendingWrite;
      return json(200, { endpoint: endpoint(), operations: [] });
    };
    const outcome = await acting.reconcile(self, seen(started));
    expect(acting.effects).toEqual([record, post]);
    expect(before).toMatchObject({
      operation: "restart",
      endpointID: "ep-one",
      value: "now",
      startedAt: "2026-01-01T08:00:00Z",
    });
    expect(outcome).toMatchObject({ effect: { kind: "restarted", value: "now" }, condition: { reason: "Restarting" } });
    expect(acting.tools.state.known.write).toMatchObject({ phase: "closed" });
  });

  test("a restart shows no other state or condition before it is answered, and needs no finalizer", async () => {
    const { acting, self, seen } = standing({}, asked);
    const before = self.status;
    acting.answer = () => {
      const { pendingWrite: _, ...status } = acting.compute().status;
      expect(status).toEqual(before);
      return refusal(502);
    };
    await acting.reconcile(self, seen(started));
    expect(acting.service.count("POST")).toBe(1);
  });

  test("a restart without a reply is done where the endpoint started since, is reported once and sent once", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    expect((await acting.reconcile(self, seen(started))).effect.kind).toBe("none");
    expect(acting.tools.state.known.write).toMatchObject({ phase: "open" });
    await expect(acting.reconcile(acting.compute(), seen(started))).rejects.toThrow("Restarting");
    const later = seen({ started_at: "2026-01-01T09:00:00Z" });
    const done = { effect: { kind: "restarted", value: "now" } };
    expect(await acting.reconcile(acting.compute(), later)).toMatchObject({
      ...done,
      events: [{ reason: "Restarted" }],
    });
    // Where only its status could not be written, it is done again and told once.
    expect(await acting.reconcile(acting.compute(), later)).toMatchObject({ ...done, events: [] });
    expect(acting.service.count("POST")).toBe(1);
  });

  test("a restart without a reply is sent once more when nothing of it can take effect any more", async () => {
    const { acting, self, seen } = standing({}, asked);
    const { clock } = acting.cluster;
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    await acting.reconcile(self, seen(started));
    await clock.advance(69_999);
    await expect(acting.reconcile(acting.compute(), { ...seen(started), list: { startedAt: 69_999 } })).rejects.toThrow(
      "Restarting",
    );
    await clock.advance(1);
    await acting.reconcile(acting.compute(), { ...seen(started), list: { startedAt: 70_000 } });
    expect(acting.service.count("POST")).toBe(2);
    expect(acting.compute().status.pendingWrite).toMatchObject({ n: 2, value: "now" });
  });

  test("a refused restart uses its record again", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = () => refusal(423);
    await acting.reconcile(self, seen(started));
    await acting.cluster.clock.advance(60_000);
    await acting.reconcile(acting.compute(), seen(started));
    expect(acting.effects).toEqual([record, post, post]);
  });

  test("a restart that was refused while the compute's state could not be read is reconciled again soon", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) => (what.startsWith("POST") ? refusal(409) : refusal(503));
    expect(await acting.reconcile(self, seen())).toMatchObject({
      condition: { reason: "ServiceUnavailable" },
      requeue: { ms: 1000 },
    });
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
  ])("a refused restart counts as done where the compute rests: %s", async (_, shown, listed, done) => {
    const { acting, self } = standing({}, asked);
    const { lister } = acting.access;
    const { state } = acting.tools;
    acting.answer = () => json(200, { endpoints: listed === undefined ? [] : [endpoint(listed)] });
    lister.use(self.metadata.uid, "ep-one");
    await acting.cluster.clock.advance(10);
    acting.answer = (what) => {
      if (what.startsWith("POST")) return refusal(409);
      return typeof shown === "number"
        ? refusal(shown, "endpoint not found")
        : json(200, { endpoint: endpoint(shown) });
    };
    const action = { kind: "restart", endpointID: "ep-one", value: "now", startedAt: undefined } as const;
    const outcome = await restartEndpoint(action, acting.context(self), acting.access);
    expect([outcome.effect.kind, state.known.handled.restartedAt]).toEqual(
      done ? ["restarted", "now"] : ["none", undefined],
    );
    expect(outcome).toMatchObject(done ? { condition: { kind: "unchanged" } } : { condition: { reason: "Rejected" } });
  });

  test.each([403, 423])("a restart that is answered %i does not ask whether the compute rests", async (status) => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = () => refusal(status);
    await acting.reconcile(self, seen());
    expect(acting.effects.filter((effect) => effect.startsWith("GET"))).toEqual([]);
  });

  test("a restart is not sent from a stale view: the record is guarded by the version seen", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
    await expect(acting.reconcile(self, seen())).rejects.toMatchObject({ status: 422 });
    expect(acting.service.count("POST")).toBe(0);
  });
});
