import { describe, expect, test } from "vitest";
import { type Outcome, shown, unchanged } from "../../../../src/operator/compute/outcome.ts";
import { ReconcileState } from "../../../../src/operator/compute/reconcile-state.ts";
import { withUnreadable } from "../../../../src/operator/compute/status/conditions.ts";
import type { Reason } from "../../../../src/operator/compute/words/reasons.ts";
import { compute, endpoint } from "../../../support/builders.ts";

const self = compute({ linked: "ep-one" });
const sentence = "The service shows host in a form that cannot be read, so the status leaves it out.";
const odd = (...unreadable: string[]) => endpoint({ unreadable });
const note = { type: "Normal", reason: "Patched", message: "" } as const;
const outcome = (reason: Reason = "Active", of = self) => shown(of, reason, "Fine.", { events: [note] });
const said = ({ condition }: Outcome) => (condition.kind === "shown" ? condition.message : undefined);

describe("what the service shows of an endpoint in a form that cannot be read", () => {
  test("an unreadable field is reported in the condition, and in one event besides the others", () => {
    const state = new ReconcileState(0, "this-term");
    const first = withUnreadable(outcome(), odd("host"), state);
    expect(said(first)).toBe(`Fine. ${sentence}`);
    expect(first.events).toEqual([note, { type: "Warning", reason: "ServiceUnavailable", message: sentence }]);
    const again = withUnreadable(outcome(), odd("host"), state);
    expect([said(again), again.events]).toEqual([`Fine. ${sentence}`, [note]]);
  });

  test("an unreadable field is no event for a process that finds it in the conditions, and one again after it was readable", () => {
    const ready = { type: "Ready", status: "True", reason: "Active", lastTransitionTime: "2026-01-01T00:00:00Z" };
    const conditions = [{ ...ready, message: `Fine. ${sentence}` }];
    const reported = compute({ linked: "ep-one", status: { endpointID: "ep-one", conditions } });
    expect(withUnreadable(outcome("Active", reported), odd("host"), new ReconcileState(0, "this-term")).events).toEqual(
      [note],
    );
    const state = new ReconcileState(0, "this-term");
    withUnreadable(outcome(), odd("host"), state);
    expect(withUnreadable(outcome(), endpoint(), state)).toEqual(outcome());
    expect(state.known.told.unreadable).toBeUndefined();
    expect(withUnreadable(outcome(), odd("host"), state).events).toHaveLength(2);
  });

  test("another unreadable field is one event more", () => {
    const state = new ReconcileState(0, "this-term");
    withUnreadable(outcome(), odd("host"), state);
    expect(withUnreadable(outcome(), odd("size"), state).events).toHaveLength(2);
  });

  test.each<[string, Outcome]>([
    ["that is not ready", outcome("Updating")],
    ["of which nothing is said", unchanged(self)],
  ])("an unreadable field is not reported for a Compute %s", (_, one) => {
    expect(withUnreadable(one, odd("host"), new ReconcileState(0, "this-term"))).toBe(one);
  });

  test("up to five unreadable fields are named, and cut short: the names are the service's own", () => {
    const named = (...fields: string[]) =>
      said(withUnreadable(outcome(), odd(...fields), new ReconcileState(0, "this-term")));
    expect(named("a", "b", "c", "d", "e")).toContain("shows a, b, c, d, e in");
    expect(named("a", "b", "c", "d", "e", "f")).toContain("shows a, b, c, d, e, more in");
    expect(named("x".repeat(100))).toContain(`shows ${"x".repeat(60)} in`);
  });
});
