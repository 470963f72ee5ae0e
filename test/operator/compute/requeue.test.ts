import { describe, expect, test } from "vitest";
import type { ReadonlyState } from "../../../src/operator/compute/memory.ts";
import { annotationsOf } from "../../../src/operator/compute/observe/annotations.ts";
import { type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { ReconcileState } from "../../../src/operator/compute/reconcile-state.ts";
import { after } from "../../../src/operator/life/outcome.ts";
import { compute } from "../../support/builders.ts";
import { requeueAfter } from "./requeueing.ts";

const now = 10_000;
const self = compute();
const requeue = (fields: Partial<ReadonlyState["requeue"]>) => ({ reason: "", count: 0, dueAt: undefined, ...fields });
const remembering = (fields: Partial<ReadonlyState> = {}) => new ReconcileState(0, "this-term", fields);

describe("a reconcile that is due", () => {
  test("wants a list from when it was due, and is over", () => {
    const state = remembering({ requeue: requeue({ dueAt: 9000 }), lists: { countAfter: 5, firstCreateAfter: 0 } });
    state.begin(annotationsOf(self, 0), false, now);
    expect(state.known).toMatchObject({ lists: { countAfter: 9000 }, requeue: { dueAt: undefined } });
    const written = remembering({
      requeue: requeue({ dueAt: 9000 }),
      lists: { countAfter: 9500, firstCreateAfter: 0 },
    });
    written.begin(annotationsOf(self, 0), false, now);
    expect(written.known.lists.countAfter).toBe(9500);
  });

  test("a reconcile is due also where its timer fired early", () => {
    const state = remembering({ requeue: requeue({ dueAt: now + 0.9 }) });
    state.begin(annotationsOf(self, 0), false, now);
    expect(state.known).toMatchObject({ lists: { countAfter: now + 0.9 }, requeue: { dueAt: undefined } });
  });

  test("waits for the end of the operations that are followed: that brings a list", () => {
    const state = remembering({ requeue: requeue({ dueAt: 9000 }) });
    state.begin(annotationsOf(self, 0), true, now);
    expect(state.known).toMatchObject({ lists: { countAfter: 0 }, requeue: { dueAt: undefined } });
  });

  test("later is kept", () => {
    const state = remembering({ requeue: requeue({ dueAt: now + 1 }) });
    state.begin(annotationsOf(self, 0), false, now);
    expect(state.known).toMatchObject({ lists: { countAfter: 0 }, requeue: { dueAt: now + 1 } });
  });
});

describe("a refresh that a person requests", () => {
  const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;
  const asking = (handled?: string) =>
    compute({
      annotations: { reconcileRequestedAt: "now" },
      status: handled === undefined ? {} : { lastHandledReconcileAt: handled },
    });

  test("wants a newer list, and has what failed tried again; once", () => {
    const state = remembering({ failedWrite, asked: "before" });
    state.begin(annotationsOf(asking("before"), 0), false, now);
    expect(state.known).toMatchObject({ lists: { countAfter: now }, asked: "now" });
    expect(state.known.failedWrite).toBeUndefined();
    state.failed(failedWrite, 0, 0);
    state.begin(annotationsOf(asking("before"), 0), false, now + 5);
    expect(state.known).toMatchObject({ lists: { countAfter: now }, failedWrite });
  });

  test.each([
    ["is over once it was answered", asking("now")],
    ["is none where nothing is asked", self],
    ["is none where the annotation was taken away", compute({ status: { lastHandledReconcileAt: "before" } })],
  ])("%s", (_, one) => {
    const state = remembering({ failedWrite });
    state.begin(annotationsOf(one, 0), false, now);
    expect(state.known).toMatchObject({ lists: { countAfter: 0 }, failedWrite });
    expect(state.known.asked).toBeUndefined();
  });
});

describe("the next reconcile", () => {
  const busy = (more: Partial<Pick<Outcome, "requeue">> = {}) => shown(self, "ProjectBusy", "", more);
  /** A reconcile that takes no time. */
  const reconciled = (state: ReconcileState, at: number) => {
    state.begin(annotationsOf(self, 0), false, at);
    return requeueAfter(state, busy(), at);
  };

  test("comes ever later for one reason, and soon again for another", () => {
    const state = remembering();
    const delays = [0, 1000, 3000].map((later) => reconciled(state, now + later));
    expect(delays).toEqual([1000, 2000, 4000]);
    expect(requeueAfter(state, shown(self, "Creating", ""), now + 3000)).toBe(500);
    expect(requeueAfter(state, busy(), now + 3500)).toBe(1000);
  });

  test("a reconcile that is due for the same reason stays as it is", () => {
    const state = remembering();
    expect(requeueAfter(state, busy(), now)).toBe(1000);
    expect(requeueAfter(state, busy(), now + 400)).toBe(600);
    expect(state.known.requeue.count).toBe(1);
  });

  test("a reconcile that falls due while another ends for the same reason comes at once, with a list of its own", () => {
    const state = remembering();
    reconciled(state, now);
    state.begin(annotationsOf(self, 0), false, now + 999);
    expect(requeueAfter(state, busy(), now + 1001)).toBe(1);
    expect(reconciled(state, now + 1002)).toBe(2000);
    expect(state.known.lists.countAfter).toBe(now + 1000);
  });

  test("a reconcile is not due where the project's next list brings it", () => {
    const state = remembering();
    requeueAfter(state, busy(), now);
    expect(requeueAfter(state, shown(self, "Active", ""), now)).toBeUndefined();
    expect(state.known.requeue.dueAt).toBeUndefined();
  });

  test("a reconcile is due as the step asks, and counts for its reason", () => {
    const state = remembering();
    expect(requeueAfter(state, busy({ requeue: after(7000) }), now)).toBe(7000);
    expect(requeueAfter(state, busy({ requeue: after(300) }), now)).toBe(300);
    expect(reconciled(state, now + 300)).toBe(4000);
  });

  test.each([
    ["what is due stays", 5000, undefined, 5000],
    ["what is due sooner stays", 5000, 7000, 5000],
    ["what the step asks for comes sooner", 5000, 300, 300],
    ["what the step asks for comes", undefined, 300, 300],
    ["nothing comes", undefined, undefined, undefined],
    ["what fell due since the reconcile began comes at once", -1, undefined, 1],
  ])("where nothing new is known, %s", (_, due, asked, expected) => {
    const dueAt = due === undefined ? undefined : now + due;
    const state = remembering({ requeue: requeue({ reason: "ProjectBusy", count: 3, dueAt }) });
    expect(requeueAfter(state, unchanged(self, { requeue: after(asked) }), now)).toBe(expected);
    expect(state.known.requeue).toMatchObject({ reason: "ProjectBusy", count: 3 });
  });

  test("comes in ten minutes for one that is to be enqueued, and needs no list then", () => {
    const state = remembering({ requeue: requeue({ dueAt: now + 5000 }) });
    expect(requeueAfter(state, unchanged(self, { requeue: { kind: "enqueued" } }), now)).toBe(600_000);
    expect(state.known.requeue.dueAt).toBeUndefined();
    state.begin(annotationsOf(self, 0), false, now + 600_000);
    expect(state.known.lists.countAfter).toBe(0);
  });

  test("no reconcile is due for one that was let go", () => {
    const due = () => remembering({ requeue: requeue({ dueAt: now + 5000 }) });
    expect(requeueAfter(due(), { ...unchanged(self), condition: { kind: "released" } }, now)).toBeUndefined();
  });

  test.each<[string, number, Outcome["requeue"], number]>([
    ["before the time of the reason", 5000, after(undefined), 5000],
    ["after the time of the reason, which stays", 90_000, after(undefined), 60_000],
    ["before the time that the step asks for", 5000, after(7000), 5000],
    ["before what enqueues the Compute", 5000, { kind: "enqueued" }, 5000],
    ["at a time that has passed: a list is late, and looked for again in a second", -1, after(undefined), 1000],
  ])("something falls due %s", (_, due, asked, expected) => {
    const state = remembering();
    state.fallsDue(now + due);
    expect(requeueAfter(state, shown(self, "PrimaryExists", "", { requeue: asked }), now)).toBe(expected);
    expect(state.known.requeue.dueAt).toBe(now + expected);
  });

  test("something falls due also where nothing new is known, or a reconcile is due for the same reason", () => {
    const state = remembering();
    requeueAfter(state, shown(self, "PrimaryExists", ""), now);
    state.fallsDue(now + 5000);
    expect(requeueAfter(state, shown(self, "PrimaryExists", ""), now)).toBe(5000);
    expect(requeueAfter(state, unchanged(self), now + 1000)).toBe(4000);
    state.fallsDue(undefined);
    expect(requeueAfter(state, shown(self, "Conflict", ""), now + 1000)).toBe(60_000);
  });

  test("a reconcile is never due so soon that it would go round in circles", () => {
    expect(requeueAfter(remembering(), unchanged(self, { requeue: after(0.2) }), now)).toBe(1);
  });
});

describe("while a write is under way whose result is expected at a known time", () => {
  const creating = shown(self, "Creating", "made");

  test("neither a reconcile by its reason nor its status comes before that, and both come soon after", () => {
    const state = remembering();
    state.expectResult(now + 6000, true);
    expect(requeueAfter(state, creating, now)).toBe(6000);
    expect(state.hold(creating, { isNew: true, endpoint: undefined }, now)).toBe(true);
    expect(state.known.held?.dueAt).toBe(now + 6000);
    state.expectResult(undefined, false);
    expect(state.hold(creating, { isNew: false, endpoint: undefined }, now + 6000)).toBe(false);
  });

  test("a result that is due sooner, and a reconcile that the action asks for, change nothing", () => {
    const state = remembering();
    state.expectResult(now + 100, true);
    expect(requeueAfter(state, creating, now)).toBe(500);
    expect(requeueAfter(state, shown(self, "Updating", "", { requeue: after(50) }), now)).toBe(50);
  });
});

describe("a reason that stalls after five minutes", () => {
  const minute = 60_000;
  /** When the Compute is reconciled for this reason, in the first ten minutes. */
  const reconciledAt = (reason: "Unauthorized" | "OperationFailed") => {
    const state = remembering();
    const at = [0];
    for (let last = 0; last < 10 * minute; last = at.at(-1) ?? 0) {
      state.begin(annotationsOf(self, 0), false, last);
      at.push(last + (requeueAfter(state, shown(self, reason, ""), last) ?? 0));
    }
    return at;
  };

  test("a stalled reason is looked at then, and by its back-off before and after", () => {
    expect(reconciledAt("Unauthorized")).toEqual([0, 1, 3, 5, 13].map((count) => count * minute));
    expect(reconciledAt("OperationFailed")).toEqual([0, 1, 3, 7, 15].map((count) => count * minute));
  });
});
