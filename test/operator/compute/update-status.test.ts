import { describe, expect, test } from "vitest";
import type { Observed } from "../../../src/operator/compute/observe/observation.ts";
import { type Effect, type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { endpointAfter } from "../../../src/operator/compute/update-status.ts";
import { compute, endpoint, madeBy, observedBy, operation, subjectOf } from "../../support/builders.ts";
import { linked } from "./execute/executing.ts";
import { accepted, setUp, unbound } from "./updating-status.ts";

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
    const { self, reported, report } = setUp(before);
    await report(shown(self, after, "now"));
    expect(reported).toEqual(events);
  });

  test("an event is raised for each note, and not twice for one reason", async () => {
    const note = (reason: string) => ({ type: "Normal", reason, message: "" }) as const;
    for (const events of [[note("Patched")], [note("Patched"), note("Updating")], [note("Updating")]]) {
      const { self, reported, report } = setUp("Active");
      await report(shown(self, "Updating", "now", { events }));
      expect(reported).toEqual(
        events.length === 1 && events[0]?.reason === "Updating"
          ? ["Normal Updating"]
          : ["Normal Patched", "Normal Updating"],
      );
    }
  });

  test("an event is all that is left of a Compute that was let go", async () => {
    const { acting, self, reported, report } = setUp("Active");
    const events = [{ type: "Normal", reason: "Released", message: "" }] as const;
    expect(await report({ ...unchanged(self, { events }), condition: { kind: "released" } })).toBe(self);
    expect(reported).toEqual(["Normal Released"]);
    expect(acting.effects).toEqual([]);
  });
});

describe("a status", () => {
  test.each<[string, Effect]>([
    ["what was only seen", { kind: "none" }],
    ["that nothing is left to do", { kind: "settled", drift: [] }],
    ["what was accepted", accepted(1)],
    ["what was restarted", { kind: "restarted", value: "now", operations: [operation()] }],
  ])(
    "a status of a newer version is not overwritten, as that may note what nothing else says: %s",
    async (_, effect) => {
      const { acting, self, report } = setUp("Active");
      acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
      await expect(report(shown(self, "Updating", "now", { effect }))).rejects.toMatchObject({ status: 422 });
      expect(acting.compute().status.conditions?.[0]?.reason).toBe("Active");
    },
  );

  test("names the Secret that is bound, and through what it was seen", async () => {
    const { self, listed, report } = setUp("Active");
    const after = await report(shown(self, "Active", "now"), listed(), {
      ...unbound,
      secret: { namespace: "default", name: "shop-db", uid: "s" },
    });
    expect(after.status).toMatchObject({ binding: { name: "shop-db" }, observedThrough: "here" });
  });

  test("answers a requested refresh, unless another was requested since, or the read failed", async () => {
    const metadata = {
      ...linked,
      annotations: { ...linked.annotations, "compute-operator.dev/reconcileRequestedAt": "now" },
    };
    const handled = async (asked: string, { unchecked = false, blind = false } = {}) => {
      const { self, listed, report } = setUp("Active", { metadata });
      const seen: Observed = blind ? { ...subjectOf(self), kind: "pending" } : listed();
      const annotations = { ...seen.annotations, reconcileRequestedAt: asked };
      const after = await report(shown(self, "Active", "now"), { ...seen, annotations }, { ...unbound, unchecked });
      return after.status.lastHandledReconcileAt;
    };
    expect(await handled("now")).toBe("now");
    expect(await handled("before")).toBeUndefined();
    expect(await handled("now", { unchecked: true })).toBeUndefined();
    expect(await handled("now", { blind: true })).toBeUndefined();
  });
});

describe("Synced, where a reason leaves it to what was seen,", () => {
  const wishing = { spec: { pooler: { enabled: true } } };
  const busy = (self: Outcome["compute"], effect: Effect = { kind: "none" }) =>
    shown(self, "ServiceUnavailable", "now", { effect });
  const shows = (one: ReturnType<typeof setUp>, fields: object) => one.listed([madeBy(one.self, fields)]);

  test.each<[string, object, Effect | undefined, string]>([
    ["the endpoint is as the spec says", { pooler_enabled: true }, undefined, "True"],
    ["it differs", { pooler_enabled: false }, undefined, "False"],
    ["it cannot be read", { unreadable: ["pooler_enabled"] }, undefined, "Unknown"],
    ["it is not shown, and was sent", {}, accepted(1), "True"],
    ["it is not shown, and was sent before", {}, undefined, "True"],
    ["it is not shown, and not sent", {}, accepted(0), "Unknown"],
    ["another Compute's endpoint is linked", { pooler_enabled: true }, { kind: "ownedByOther" }, "Unknown"],
  ])("tells that %s", async (_, fields, effect, expected) => {
    const one = setUp("Active", wishing);
    await one.report(busy(one.self, effect), shows(one, fields));
    expect(one.synced()).toBe(expected);
  });

  test("reports nothing of a field that is not shown, where no status says that it was sent", async () => {
    const one = setUp("Active", { ...wishing, status: { appliedGeneration: undefined } });
    await one.report(busy(one.self));
    expect(one.synced()).toBe("Unknown");
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
    await blind.report(busy(blind.self), { ...subjectOf(blind.self), kind: "pending" });
    expect(blind.synced()).toBe("Unknown");
  });
});

test("the endpoint after a reconcile is what an answer showed, else the list, and never another Compute's", () => {
  const self = compute({ linked: "ep-one" });
  const observed = observedBy(self, [endpoint()]);
  const answered = endpoint({ current_state: "idle" });
  expect(endpointAfter(unchanged(self), observed)).toEqual(endpoint());
  expect(endpointAfter(unchanged(self, { effect: accepted(1, answered) }), observed)).toBe(answered);
  expect(endpointAfter(unchanged(self), { ...subjectOf(self), kind: "pending" })).toBeUndefined();
  expect(endpointAfter(unchanged(self, { effect: { kind: "ownedByOther" } }), observed)).toBeUndefined();
});

describe("what was seen of the endpoint", () => {
  const status = { currentState: "active", state: "Active" };

  test("what was seen is left in the status by a reconcile without a list, and corrected by one that lacks it", async () => {
    const blind = setUp("Active", { status });
    await blind.report(shown(blind.self, "Unauthorized", "now"), { ...subjectOf(blind.self), kind: "pending" });
    expect(blind.acting.compute().status).toMatchObject(status);
    const lost = setUp("Active", { status });
    await lost.report(shown(lost.self, "EndpointLost", "now"), lost.listed([]));
    expect(lost.acting.compute().status).not.toHaveProperty("currentState");
    expect(lost.acting.compute().status.state).toBe("Lost");
  });
});

describe("a confirmed loss is noted as handled", () => {
  const loss = "compute-operator.dev/confirmLoss";
  /** The value noted as handled after a reconcile that began with the annotation "now" and found this. */
  const handled = async (
    found: "the endpoint" | "no endpoint" | "a loss" | "nothing",
    annotation = "now",
    id: object = linked.annotations,
  ) => {
    const metadata = { ...linked, annotations: { ...id, [loss]: annotation } };
    const status = Object.keys(id).length === 0 ? { endpointID: undefined } : {};
    const { self, listed, report } = setUp("MassLoss", { metadata, status });
    const seen = found === "nothing" ? { ...subjectOf(self), kind: "pending" as const } : undefined;
    const observed: Observed = seen ?? listed(found === "the endpoint" ? undefined : []);
    const annotations = { ...observed.annotations, confirmLoss: "now" };
    const after = await report(shown(self, "Creating", "on it"), { ...observed, annotations });
    return after.status.lastHandledConfirmLoss;
  };

  test("a confirmed loss is handled once the endpoint is there, or none is missing any more", async () => {
    expect(await handled("the endpoint")).toBe("now");
    expect(await handled("no endpoint", "now", {})).toBe("now");
  });

  test("a confirmed loss is not handled while the endpoint is missing, nor by a reconcile that saw nothing", async () => {
    expect(await handled("a loss")).toBeUndefined();
    expect(await handled("nothing")).toBeUndefined();
    expect(await handled("nothing", "now", {})).toBeUndefined();
  });

  test("a confirmed loss is not handled for a value that was written since the reconcile began", async () => {
    expect(await handled("the endpoint", "later")).toBeUndefined();
  });
});

test("a confirmed loss is handled once a list from after it shows the endpoint, and not while that is missing", async () => {
  const confirmLoss = "compute-operator.dev/confirmLoss";
  const metadata = { ...linked, annotations: { ...linked.annotations, [confirmLoss]: "yes" } };
  const { acting, self, report, listed } = setUp("MassLoss", { metadata });
  const handled = () => acting.compute().status.lastHandledConfirmLoss;
  await report(shown(self, "EndpointLost", ""), listed([]));
  expect(handled()).toBeUndefined();
  // The reconcile began before the annotation was set.
  const before = { ...acting.compute(), metadata: { ...acting.compute().metadata, annotations: linked.annotations } };
  await report(shown(acting.compute(), "Active", "1"), observedBy(before, [madeBy(before)]));
  expect(handled()).toBeUndefined();
  await report(shown(acting.compute(), "Active", "2"), observedBy(acting.compute(), [madeBy(acting.compute())]));
  expect(handled()).toBe("yes");
});
