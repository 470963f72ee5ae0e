import { describe, expect, test } from "vitest";
import { type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { expireLists, requeueAfter } from "../../../src/operator/compute/requeue.ts";
import { newReconcileState, type ReconcileState } from "../../../src/operator/compute/state.ts";
import { compute } from "../../support/builders.ts";

const now = 10_000;
const self = compute();
const requeue = (fields: Partial<ReconcileState["requeue"]>) => ({ reason: "", count: 0, dueAt: undefined, ...fields });
const state = (fields: Partial<ReconcileState> = {}) => ({ ...newReconcileState(0), ...fields });

describe("a look that is due", () => {
  test("wants a list from when it was due, and is over", () => {
    const memory = state({ requeue: requeue({ dueAt: 9000 }), listsCountAfter: 5 });
    expireLists(self, memory, false, now);
    expect(memory).toMatchObject({ listsCountAfter: 9000, requeue: { dueAt: undefined } });
    const written = state({ requeue: requeue({ dueAt: 9000 }), listsCountAfter: 9500 });
    expireLists(self, written, false, now);
    expect(written.listsCountAfter).toBe(9500);
  });

  test("waits for the end of the operations that are followed: that brings a list", () => {
    const memory = state({ requeue: requeue({ dueAt: 9000 }) });
    expireLists(self, memory, true, now);
    expect(memory).toMatchObject({ listsCountAfter: 0, requeue: { dueAt: undefined } });
  });

  test("later is kept", () => {
    const memory = state({ requeue: requeue({ dueAt: now + 1 }) });
    expireLists(self, memory, false, now);
    expect(memory).toMatchObject({ listsCountAfter: 0, requeue: { dueAt: now + 1 } });
  });
});

describe("a fresh look that a person asks for", () => {
  const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;
  const asking = (handled?: string) =>
    compute({
      annotations: { reconcileRequestedAt: "now" },
      status: handled === undefined ? {} : { lastHandledReconcileAt: handled },
    });

  test("wants a newer list, and has what failed tried again; once", () => {
    const memory = state({ failedWrite, handledReconcileRequest: "before" });
    expireLists(asking("before"), memory, false, now);
    expect(memory).toMatchObject({ listsCountAfter: now, handledReconcileRequest: "now" });
    expect(memory.failedWrite).toBeUndefined();
    memory.failedWrite = failedWrite;
    expireLists(asking("before"), memory, false, now + 5);
    expect(memory).toMatchObject({ listsCountAfter: now, failedWrite });
  });

  test.each([
    ["is over once it was answered", asking("now")],
    ["is none where nothing is asked", self],
    ["is none where the annotation was taken away", compute({ status: { lastHandledReconcileAt: "before" } })],
  ])("%s", (_, one) => {
    const memory = state({ failedWrite });
    expireLists(one, memory, false, now);
    expect(memory).toMatchObject({ listsCountAfter: 0, failedWrite });
    expect(memory.handledReconcileRequest).toBeUndefined();
  });
});

describe("the next look", () => {
  const busy = (more: Partial<Outcome> = {}) => shown(self, "ProjectBusy", "", more);

  test("comes ever later for one reason, and soon again for another", () => {
    const memory = state();
    const delays = [0, 1000, 3000].map((later) => requeueAfter(busy(), memory, now + later));
    expect(delays).toEqual([1000, 2000, 4000]);
    expect(requeueAfter(shown(self, "Creating", ""), memory, now + 3000)).toBe(500);
    expect(requeueAfter(busy(), memory, now + 3500)).toBe(1000);
  });

  test("that is due for the same reason stays as it is", () => {
    const memory = state();
    expect(requeueAfter(busy(), memory, now)).toBe(1000);
    expect(requeueAfter(busy(), memory, now + 400)).toBe(600);
    expect(memory.requeue.count).toBe(1);
  });

  test("is none where the project's next list brings it", () => {
    const memory = state();
    requeueAfter(busy(), memory, now);
    expect(requeueAfter(shown(self, "Active", ""), memory, now)).toBeUndefined();
    expect(memory.requeue.dueAt).toBeUndefined();
  });

  test("is as the step asks, and counts for its reason", () => {
    const memory = state();
    expect(requeueAfter(busy({ requeueAfterMs: 7000 }), memory, now)).toBe(7000);
    expect(requeueAfter(busy({ requeueAfterMs: 300 }), memory, now)).toBe(300);
    expect(requeueAfter(busy(), memory, now + 300)).toBe(4000);
  });

  test.each([
    ["what is due stays", 5000, undefined, 5000],
    ["what is due sooner stays", 5000, 7000, 5000],
    ["what the step asks for comes sooner", 5000, 300, 300],
    ["what the step asks for comes", undefined, 300, 300],
    ["nothing comes", undefined, undefined, undefined],
    ["what was due before does not come", -1, undefined, undefined],
  ])("where nothing new is known: %s", (_, due, asked, expected) => {
    const dueAt = due === undefined ? undefined : now + due;
    const memory = state({ requeue: requeue({ reason: "ProjectBusy", count: 3, dueAt }) });
    expect(requeueAfter(unchanged(self, asked), memory, now)).toBe(expected);
    expect(memory.requeue).toMatchObject({ reason: "ProjectBusy", count: 3 });
  });

  test("is none for one that is woken, nor for one that was let go", () => {
    const due = () => state({ requeue: requeue({ dueAt: now + 5000 }) });
    const memory = due();
    expect(requeueAfter({ ...unchanged(self), isWoken: true }, memory, now)).toBeUndefined();
    expect(memory.requeue.dueAt).toBeUndefined();
    expect(requeueAfter({ ...unchanged(self), released: true }, due(), now)).toBeUndefined();
  });

  test("comes no later than the next reading of the connection Secret, which waits where it is overdue", () => {
    expect(requeueAfter(unchanged(self), state({ secretDueAt: now + 800 }), now)).toBe(800);
    expect(requeueAfter(unchanged(self, 300), state({ secretDueAt: now + 800 }), now)).toBe(300);
    expect(requeueAfter(unchanged(self, 900), state({ secretDueAt: now + 800 }), now)).toBe(800);
    expect(requeueAfter(unchanged(self), state({ secretDueAt: now - 1 }), now)).toBeUndefined();
  });

  test("is never so soon that it would go round in circles", () => {
    expect(requeueAfter(unchanged(self, 0.2), state(), now)).toBe(1);
  });
});
