import { describe, expect, test } from "vitest";
import { shown } from "../../../../src/operator/compute/outcome.ts";
import { ReconcileState } from "../../../../src/operator/compute/reconcile-state.ts";
import { type Reason, reasons } from "../../../../src/operator/compute/words/reasons.ts";
import { isStalling, nothingDue } from "../../../../src/operator/life/due.ts";
import { conditionOf, readyLabel, shownReason } from "../../../../src/operator/objects/conditions-of.ts";
import { compute } from "../../../support/builders.ts";
import { requeueAfter } from "../requeueing.ts";
import { active, after, minute, noon, self, statusAfter } from "./updating.ts";

function isReason(text: string): text is Reason {
  return Object.hasOwn(reasons, text);
}

describe("conditions", () => {
  test.each(Object.keys(reasons).filter(isReason))(
    "the conditions of %s are those of the table, all with one reason, and with the message in Ready and Synced alone",
    (reason) => {
      const row = reasons[reason];
      const { conditions = [] } = statusAfter(shown(self, reason, "why"));
      const types = [
        reason === "Expired" ? "Expired" : "Ready",
        "Synced",
        ...(row.reconciling ? ["Reconciling"] : []),
        ...(row.stalled === true ? ["Stalled"] : []),
      ];
      expect(conditions.map(({ type }) => type)).toEqual(types);
      expect(new Set(conditions.map((condition) => condition.reason))).toEqual(new Set([reason]));
      expect(conditions.filter(({ message }) => message === "why").map(({ type }) => type)).toEqual([
        types[0],
        "Synced",
      ]);
      expect(conditions.slice(2).every(({ status }) => status === "True")).toBe(true);
    },
  );

  test.each<[Reason, boolean | undefined, string]>([
    ["ServiceUnavailable", undefined, "Unknown"],
    ["RateLimited", undefined, "Unknown"],
    ["Unauthorized", undefined, "Unknown"],
    ["Forbidden", undefined, "Unknown"],
    ["ConnectionNotFound", undefined, "Unknown"],
    ["ConnectionNotReady", undefined, "Unknown"],
    ["ProjectNotFound", undefined, "Unknown"],
    ["ServiceUnavailable", false, "False"],
    ["ServiceUnavailable", true, "True"],
    ["Paused", undefined, "Unknown"],
    ["Paused", false, "False"],
    ["Paused", true, "True"],
    ["Active", undefined, "True"],
    ["Conflict", undefined, "False"],
  ])(
    "the conditions have Synced as it was seen: %s where the endpoint is as declared: %s",
    (reason, compared, synced) => {
      const settled = after(active());
      expect(conditionOf(statusAfter(shown(settled, reason, ""), { compared }), "Synced")?.status).toBe(synced);
    },
  );

  test("the conditions of what ended as declared have no Ready, and a pause leaves it so", () => {
    const ended = after(shown(self, "Expired", "Expired: it is over."));
    const has = ({ status: { conditions = [] } }: typeof ended) =>
      conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
    expect(has(ended)).toEqual(["Expired True Expired", "Synced True Expired"]);
    expect([shownReason(ended), readyLabel(ended)]).toEqual(["Expired", "Expired"]);
    const paused = after(shown(ended, "Paused", ""));
    expect(has(paused)).toEqual(["Expired True Paused", "Synced True Paused"]);
    expect(has(after(shown(paused, "Creating", "")))).toEqual([
      "Ready False Creating",
      "Synced False Creating",
      "Reconciling True Creating",
    ]);
  });

  test("conditions are dated when their status changes, not when their reason does", () => {
    const settled = after(active());
    const idle = after(shown(settled, "Idle", "asleep"), { now: noon + minute });
    expect(conditionOf(idle.status, "Ready")).toMatchObject({
      reason: "Idle",
      lastTransitionTime: "2026-01-01T12:00:00Z",
    });
    const busy = after(shown(idle, "Updating", "on it"), { now: noon + 2 * minute });
    expect(conditionOf(busy.status, "Ready")).toMatchObject({
      status: "False",
      lastTransitionTime: "2026-01-01T12:02:00Z",
    });
  });

  test.each(["Unauthorized", "Forbidden", "ConnectionNotFound", "ProjectNotFound", "BranchNotFound"] as const)(
    "the conditions of %s have Stalled in place of Reconciling once it has held for five minutes, and keep it in another process",
    (reason) => {
      const state = new ReconcileState(0, "this-term");
      const outcome = shown(self, reason, "why");
      requeueAfter(state, outcome, 0);
      const { since } = state.known.requeue;
      const times = [5 * minute - 1, 5 * minute - 0.9, 5 * minute];
      expect(times.map((now) => isStalling(reason, self, { reason, count: 1, since, dueAt: undefined }, now))).toEqual([
        false,
        true,
        true,
      ]);
      const stalled = after(outcome, { stalls: true });
      expect(stalled.status.conditions?.map(({ type }) => type)).toEqual(["Ready", "Synced", "Stalled"]);
      expect(isStalling(reason, stalled, nothingDue, 0)).toBe(true);
      expect(isStalling("Forbidden", after(shown(self, "Rejected", "no")), nothingDue, 0)).toBe(false);
    },
  );

  test("the conditions have Ready as it was while paused, and observedGeneration stands still", () => {
    const settled = after(active());
    const edited = { ...settled, metadata: { ...settled.metadata, generation: 2 } };
    const status = statusAfter(shown(edited, "Paused", "paused"));
    expect(status).toMatchObject({ observedGeneration: 1, appliedGeneration: 1 });
    expect(conditionOf(status, "Ready")).toMatchObject({ status: "True", reason: "Paused", observedGeneration: 1 });
    const never = compute({ linked: "ep-one", status: { observedGeneration: -1 } });
    expect(conditionOf(statusAfter(shown(never, "Paused", "")), "Ready")?.observedGeneration).toBe(0);
    expect(conditionOf(statusAfter(shown(compute({ linked: "ep-one" }), "Paused", "")), "Ready")?.status).toBe(
      "Unknown",
    );
  });

  test("the conditions have messages of at most 1 KiB, cut between two characters", () => {
    const { message = "" } = conditionOf(statusAfter(shown(self, "Rejected", "ü".repeat(2000))), "Ready") ?? {};
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1024);
    expect(message).toMatch(/^ü+…$/);
  });
});

describe("the generation that the service was brought to", () => {
  const edited = compute({ linked: "ep-one", generation: 2, status: { endpointID: "ep-one", appliedGeneration: 1 } });

  test.each<[Reason, number | undefined, number]>([
    ["Active", undefined, 2],
    ["Drifted", undefined, 2],
    ["Updating", 2, 2],
    ["Updating", undefined, 1],
    ["Creating", 1, 1],
    ["Rejected", undefined, 1],
    ["Paused", undefined, 1],
  ])("the generation after %s (sent: %s) is %i", (reason, applied, generation) => {
    const accepted = {
      kind: "accepted",
      entry: "",
      generation: applied ?? 0,
      endpoint: undefined,
      operations: [],
    } as const;
    const settled = { kind: "settled", drift: [] } as const;
    const unsent = reasons[reason].ready === "True" ? settled : ({ kind: "none" } as const);
    const outcome = shown(edited, reason, "", { effect: applied === undefined ? unsent : accepted });
    expect(statusAfter(outcome).appliedGeneration).toBe(generation);
  });
});

describe("a refresh that was requested", () => {
  const asked = compute({ linked: "ep-one", annotations: { endpointID: "ep-one", reconcileRequestedAt: "now" } });

  test("a requested refresh is answered with the refresh, also if there is nothing to see yet", () => {
    expect(statusAfter(active(asked)).lastHandledReconcileAt).toBe("now");
    expect(statusAfter(shown(asked, "Conflict", ""), { endpoint: undefined }).lastHandledReconcileAt).toBe("now");
  });

  test("a requested refresh is answered by the loss of the endpoint too", () => {
    for (const reason of ["EndpointLost", "MassLoss"] as const) {
      expect(statusAfter(shown(asked, reason, ""), { endpoint: undefined }).lastHandledReconcileAt).toBe("now");
    }
  });
});

describe("a loss that is confirmed", () => {
  const annotations = { endpointID: "ep-one", confirmLoss: "now" };
  const gone = { endpoint: undefined, lossOver: false };

  test("a loss is not confirmed before it was shown: the value is noted as handled when the loss is shown", () => {
    const early = compute({ linked: "ep-one", annotations });
    expect(statusAfter(shown(early, "MassLoss", ""), gone)).toMatchObject({
      lastHandledConfirmLoss: "now",
      lossDoubted: true,
    });
  });

  test("a confirmed loss stays so until another endpoint is there, and that value then confirms no other loss", () => {
    const reported = compute({ linked: "ep-one", annotations, shows: "MassLoss", status: { lossDoubted: true } });
    const underway = statusAfter(shown(reported, "EndpointLost", ""), gone);
    expect(underway).toMatchObject({ lossDoubted: true });
    expect(underway).not.toHaveProperty("lastHandledConfirmLoss");
    const over = statusAfter(shown(reported, "Creating", ""), { lossOver: true });
    expect(over).toMatchObject({ lastHandledConfirmLoss: "now" });
    expect(over).not.toHaveProperty("lossDoubted");
  });
});

test("drift is shown while there is any, and kept while nothing is known", () => {
  const drift = [{ field: "disabled", ours: "false", theirs: "true" }];
  const drifted = after(shown(self, "Drifted", "", { effect: { kind: "settled", drift } }));
  expect(drifted.status.drift).toEqual(drift);
  expect(statusAfter(shown(drifted, "ServiceUnavailable", "")).drift).toEqual(drift);
  expect(statusAfter(active(drifted))).not.toHaveProperty("drift");
});
