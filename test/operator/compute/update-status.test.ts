import { describe, expect, test } from "vitest";
import { type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { endpointAfter, updateStatus } from "../../../src/operator/compute/update-status.ts";
import { ClusterError } from "../../../src/operator/kube/errors.ts";
import { compute, endpoint, listOf, madeBy, operation } from "../../support/builders.ts";
import { Acting, linked } from "./execute/executing.ts";

const none: Parameters<typeof updateStatus>[4] = { look: undefined, confirmLoss: undefined };
const condition = (type: string, reason: string) => ({
  type,
  status: "True",
  reason,
  message: "as before",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  observedGeneration: 1,
});

/** A Compute that shows this reason, and its status after an outcome. */
function setUp(reason?: string, fields: Parameters<Acting["stored"]>[0] = {}) {
  const acting = new Acting();
  const conditions = reason === undefined ? {} : { conditions: [condition("Ready", reason)] };
  const self = acting.stored({
    metadata: linked,
    ...fields,
    status: { endpointID: "ep-one", appliedGeneration: 1, ...conditions, ...fields.status },
  });
  const told: string[] = [];
  const tools = {
    cluster: acting.hands.cluster,
    clock: acting.hands.clock,
    event: (_: unknown, { type, reason: why }: { type: string; reason: string }) => void told.push(`${type} ${why}`),
  };
  const listed = (endpoints = [madeBy(self)]) => ({ kind: "listed", list: listOf(self, endpoints) }) as const;
  const report = (outcome: Outcome, observation: Parameters<typeof updateStatus>[1] = listed(), asked = none) =>
    updateStatus(outcome, observation, undefined, tools, asked);
  const synced = () => acting.compute().status.conditions?.find(({ type }) => type === "Synced")?.status;
  return { acting, self, told, tools, listed, report, synced };
}

describe("an event", () => {
  test.each([
    ["Creating", "Active", ["Normal Active"]],
    ["Active", "Updating", ["Normal Updating"]],
    ["Active", "Active", []],
    ["Active", "Idle", []],
    ["Disabled", "Idle", []],
    ["Active", "Drifted", ["Warning Drifted"]],
    ["Drifted", "Active", ["Normal Active"]],
    ["Active", "ProjectBusy", ["Warning ProjectBusy"]],
    ["Active", "Forbidden", ["Warning Forbidden"]],
    ["Active", "OperationFailed", ["Warning OperationFailed"]],
    ["Active", "Conflict", ["Warning Conflict"]],
    ["Active", "EndpointLost", ["Warning EndpointLost"]],
    [undefined, "Active", ["Normal Active"]],
    ["Active", "Paused", ["Normal Paused"]],
  ] as const)("from %s to %s", async (before, after, events) => {
    const { self, told, report } = setUp(before);
    await report(shown(self, after, "now"));
    expect(told).toEqual(events);
  });

  test("is raised for each note, and not twice for one reason", async () => {
    const note = (reason: string) => ({ type: "Normal", reason, message: "" }) as const;
    for (const notes of [[note("Patched")], [note("Patched"), note("Updating")], [note("Updating")]]) {
      const { self, told, report } = setUp("Active");
      await report(shown(self, "Updating", "now", { notes }));
      expect(told).toEqual(
        notes.length === 1 && notes[0]?.reason === "Updating"
          ? ["Normal Updating"]
          : ["Normal Patched", "Normal Updating"],
      );
    }
  });

  test("is all that is left of a Compute that was let go", async () => {
    const { acting, self, told, report } = setUp("Active");
    const notes = [{ type: "Normal", reason: "Released", message: "" }] as const;
    expect(await report({ ...unchanged(self), released: true, notes })).toBe(self);
    expect(told).toEqual(["Normal Released"]);
    expect(acting.effects).toEqual([]);
  });
});

describe("a status", () => {
  test("that stands is not written", async () => {
    const { acting, self, report } = setUp();
    const after = await report(shown(self, "Active", "now"));
    const writes = acting.effects.length;
    expect(await report(shown(after, "Active", "now"))).toBe(after);
    expect(acting.effects).toHaveLength(writes);
  });

  test.each([
    ["what was only seen", {}, false],
    ["that nothing is being done", { operations: [] }, false],
    ["what was applied", { applied: 1 }, true],
    ["what was restarted", { restarted: "now" }, true],
    ["what was begun", { operations: [operation()] }, true],
  ])("of an old version is overwritten only by what is true all the same: %s", async (_, more, isWritten) => {
    const { acting, self, report } = setUp("Active");
    acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
    const outcome = shown(self, "Updating", "now", more);
    const answer = await report(outcome).then(
      () => 200,
      (error: unknown) => (error instanceof ClusterError ? error.status : error),
    );
    expect(answer).toBe(isWritten ? 200 : 422);
    expect(acting.compute().status.conditions?.[0]?.reason).toBe(isWritten ? "Updating" : "Active");
  });

  test("names the Secret that is bound, and through what it was seen", async () => {
    const { self, tools, listed } = setUp("Active");
    const after = await updateStatus(shown(self, "Active", "now"), listed(), "shop-db", tools, none);
    expect(after.status).toMatchObject({ binding: { name: "shop-db" }, observedThrough: "here" });
  });

  test("answers a fresh look, unless another is asked for since, or what was to be read could not be", async () => {
    const metadata = {
      ...linked,
      annotations: { ...linked.annotations, "compute-operator.dev/reconcileRequestedAt": "now" },
    };
    const handled = async (asked: string, more: Partial<Outcome> = {}, blind = false) => {
      const { self, report } = setUp("Active", { metadata });
      const observation = blind ? ({ kind: "awaited" } as const) : undefined;
      const after = await report(shown(self, "Active", "now", more), observation, { ...none, look: asked });
      return after.status.lastHandledReconcileAt;
    };
    expect(await handled("now")).toBe("now");
    expect(await handled("before")).toBeUndefined();
    expect(await handled("now", { unread: true })).toBeUndefined();
    expect(await handled("now", {}, true)).toBeUndefined();
  });
});

describe("Synced, where a reason leaves it to what was seen,", () => {
  const wishing = { spec: { pooler: { enabled: true } } };
  const busy = (self: Outcome["compute"], more: Partial<Outcome> = {}) =>
    shown(self, "ServiceUnavailable", "now", more);
  const shows = (one: ReturnType<typeof setUp>, fields: object) => one.listed([madeBy(one.self, fields)]);

  test.each([
    ["the endpoint is as the spec says", { pooler_enabled: true }, {}, "True"],
    ["it differs", { pooler_enabled: false }, {}, "False"],
    ["it cannot be read", { unreadable: ["pooler_enabled"] }, {}, "Unknown"],
    ["it is not shown, and was sent", {}, { applied: 1 }, "True"],
    ["it is not shown, and was sent before", {}, {}, "True"],
    ["it is not shown, and not sent", {}, { applied: 0 }, "Unknown"],
    ["another Compute's endpoint is linked", { pooler_enabled: true }, { ownedByOther: true as const }, "Unknown"],
  ])("tells that %s", async (_, fields, more, expected) => {
    const one = setUp("Active", wishing);
    await one.report(busy(one.self, more), shows(one, fields));
    expect(one.synced()).toBe(expected);
  });

  test("tells that there is no endpoint, that it is being deleted, or that nothing was seen", async () => {
    const [absent, deleting, blind] = [setUp("Active"), setUp("Active"), setUp("Active")];
    await absent.report(busy(absent.self), absent.listed([]));
    expect(absent.synced()).toBe("False");
    deleting.acting.cluster.server.handle({
      method: "DELETE",
      path: "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop",
    });
    await deleting.report(busy(deleting.acting.compute()));
    expect(deleting.synced()).toBe("False");
    await blind.report(busy(blind.self), { kind: "awaited" });
    expect(blind.synced()).toBe("Unknown");
  });
});

test("the endpoint after a reconcile is what an answer showed, else the list, and never another Compute's", () => {
  const self = compute({ linked: "ep-one" });
  const observation = { kind: "listed", list: listOf(self, [endpoint()]) } as const;
  const answered = endpoint({ current_state: "idle" });
  expect(endpointAfter(unchanged(self), observation)).toEqual(endpoint());
  expect(endpointAfter({ ...unchanged(self), endpoint: answered }, observation)).toBe(answered);
  expect(endpointAfter(unchanged(self), { kind: "awaited" })).toBeUndefined();
  expect(endpointAfter({ ...unchanged(self), ownedByOther: true }, observation)).toBeUndefined();
});
