import { describe, expect, test } from "vitest";
import { type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { ReconcileState } from "../../../src/operator/compute/reconcile-state.ts";
import { type StatusTools, updateStatus } from "../../../src/operator/compute/update-status.ts";
import { linked } from "./execute/executing.ts";
import { setUp, unbound } from "./updating-status.ts";

describe("a status that may wait", () => {
  const holding = (status: object = {}, fields: Parameters<typeof setUp>[1] = {}) => {
    const one = setUp("Creating", { ...fields, status });
    const state = new ReconcileState(0, "this-term");
    const report = (outcome: Outcome, observed = one.listed(), more: Partial<StatusTools> = {}) =>
      updateStatus(outcome, observed, unbound, { ...one.tools, state, ...more });
    const written = () => one.acting.effects.length;
    return { ...one, state, report, written };
  };

  test("a status is held back as long as the process goes on, and written at once by one that stops", async () => {
    const { self, report, written, state } = holding();
    const starting = shown(self, "Starting", "now");
    expect(await report(starting)).toBe(self);
    expect([written(), state.known.held?.condition]).toEqual([0, starting.condition]);
    await report(starting, undefined, { isStopping: () => true });
    expect([written(), state.known.held]).toEqual([1, undefined]);
  });

  test("a status is no longer held once another says all that is known, or the status says it already", async () => {
    const settled = holding();
    await settled.report(shown(settled.self, "Starting", "now"));
    const effect = { kind: "settled", drift: [] } as const;
    const after = await settled.report(shown(settled.self, "Active", "done", { effect }));
    expect([settled.written(), settled.state.known.held]).toEqual([1, undefined]);
    settled.state.hold(shown(after, "Starting", "now"), { isNew: false, endpoint: undefined }, 0);
    expect(await settled.report(shown(after, "Active", "done", { effect }))).toBe(after);
    expect([settled.written(), settled.state.known.held]).toEqual([1, undefined]);
  });

  test("a status is written at once where none has said yet that a restart was carried out", async () => {
    const asked = { ...linked.annotations, "compute-operator.dev/restartedAt": "second" };
    const shownAfter = async (restarted: string) => {
      const { self, report, written, state } = holding(
        { observedGeneration: 1 },
        { metadata: { ...linked, annotations: asked } },
      );
      state.restarted(restarted);
      return [(await report(shown(self, "Restarting", "now"))).status.restartedAt, written()];
    };
    expect(await shownAfter("second")).toEqual(["second", 1]);
    expect(await shownAfter("first")).toEqual([undefined, 0]);
  });

  test("a held status is outdated once another follows, also where that cannot be written", async () => {
    const { self, report, acting } = holding();
    await report(shown(self, "Starting", "soon"));
    const { fate } = acting.cluster;
    acting.cluster.fate = () => ({ kind: "refused", afterMs: 0 });
    const effect = { kind: "settled", drift: [] } as const;
    await expect(report(shown(self, "Active", "done", { effect }))).rejects.toThrow("PATCH");
    acting.cluster.fate = fate;
    await report(unchanged(self), undefined, { isStopping: () => true });
    expect(acting.compute().status.conditions).toEqual(self.status.conditions);
  });
});
