import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { answersCountAfter, type ReadonlyState } from "../../../src/operator/compute/memory.ts";
import { ReconcileState } from "../../../src/operator/compute/reconcile-state.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  type InputFields,
  madeBy,
  now,
  observedBy,
  openSince,
  operation,
  recordOf,
} from "../../support/builders.ts";

/** What is remembered after a list that shows these endpoints. */
function after(
  fields: ComputeFields,
  before: Partial<ReadonlyState>,
  endpoints: readonly Endpoint[] = [],
  list: InputFields["list"] = {},
) {
  const self = compute(fields);
  const state = new ReconcileState(0, "this-term", before);
  state.listed(observedBy(self, endpoints, list));
  return state.known;
}

const startedAt = now - 100;

describe("a list", () => {
  test("ends an answered DELETE of an endpoint that it lacks, but not of the Compute's own: that is still to be proved", () => {
    const answered = (accepted: boolean) => ({ at: 0, before: 0, accepted, proved: false, shown: 0 });
    const deletes = new Map([
      ["ep-one", answered(false)],
      ["ep-gone", answered(false)],
      ["ep-mine", answered(true)],
    ]);
    expect([...after({}, { deletes }, [endpoint()]).deletes.keys()]).toEqual(["ep-one", "ep-mine"]);
  });

  test("closes the record that it settles", () => {
    const write = openSince(startedAt - 70_000);
    expect(after({ shows: "Creating" }, { write }).write).toMatchObject({ phase: "closed" });
    expect(after({ shows: "Creating" }, { write: openSince(startedAt) }).write).toMatchObject({ phase: "open" });
  });

  test("begins the time for which an endpoint is missing, ends it, and keeps it", () => {
    const missing = { id: "ep-one", since: startedAt, proved: false };
    expect(after({ linked: "ep-one" }, {}).missing).toEqual(missing);
    expect(after({ linked: "ep-one" }, { missing: { ...missing, id: "ep-other" } }).missing).toEqual(missing);
    const earlier = { ...missing, since: 5, proved: true };
    expect(after({ linked: "ep-one" }, { missing: earlier }).missing).toEqual(earlier);
    expect(after({ linked: "ep-one" }, { missing }, [endpoint()]).missing).toBeUndefined();
    expect(after({}, { missing }).missing).toBeUndefined();
  });
});

describe("the note that this operator disabled the endpoint", () => {
  const noted = compute({ status: { disabledByUs: true } });
  const state = (disableNotedAt?: number) => new ReconcileState(0, "this-term", { disableNotedAt });

  test("counts from when this term first saw it", () => {
    const one = state();
    one.noteVersion(noted, 5);
    one.noteVersion(noted, 9);
    expect(one.known.disableNotedAt).toBe(5);
  });

  test("counts from the end of this term's own last PATCH of disabled, where that is later", () => {
    const one = state(5);
    one.disableSent(9);
    one.noteVersion(noted, 12);
    expect(one.known.disableNotedAt).toBe(9);
  });

  test("the note is forgotten with the status that says so", () => {
    const one = state(5);
    one.noteVersion(compute(), 9);
    expect(one.known.disableNotedAt).toBeUndefined();
  });
});

describe("the endpoint that this process created", () => {
  test("the created endpoint has the generation that the service accepted, until another endpoint is taken over", () => {
    const state = new ReconcileState(0, "this-term");
    state.created("ep-one", compute({ generation: 3 }));
    expect(state.known.accepted).toEqual({ endpointID: "ep-one", generation: 3, drift: [] });
    state.tookOver();
    expect(state.known.accepted).toBeUndefined();
  });
});

test("a Compute that comes under this selector is created on a list from after that", () => {
  const state = new ReconcileState(0, "this-term");
  state.entered(7);
  expect(state.known).toMatchObject({ enteredAt: 7, lists: { firstCreateAfter: 7 } });
});

test("a GET proves nothing of another endpoint than the one that it asked for", () => {
  const missing = { id: "ep-one", since: 5, proved: false };
  const state = new ReconcileState(0, "this-term", { missing });
  state.provedGone("ep-two", "lost");
  expect(state.known.missing).toEqual(missing);
  state.provedGone("ep-one", "lost");
  expect(state.known.missing).toEqual({ ...missing, proved: true });
});

describe("the record of a request", () => {
  test("closes with the proof that the endpoint is gone that it made, after our own DELETE", () => {
    const state = new ReconcileState(0, "this-term", { write: openSince(5, {}, "ep-one") });
    state.provedGone("ep-one", "lost");
    expect(state.known.write).toMatchObject({ phase: "open" });
    state.provedGone("ep-two", "deleted");
    expect(state.known.write).toMatchObject({ phase: "open" });
    state.provedGone("ep-one", "deleted");
    expect(state.known.write).toMatchObject({ phase: "closed" });
  });

  test("the record of a restart closes with the restart, and no other does", () => {
    const restart = new ReconcileState(0, "this-term", { write: openSince(5, { operation: "restart" }) });
    restart.restarted("two");
    expect(restart.known.write).toMatchObject({ phase: "closed" });
    const create = new ReconcileState(0, "this-term", { write: openSince(5) });
    create.restarted("two");
    expect(create.known.write).toMatchObject({ phase: "open" });
  });

  test("a record is seen with every version, also without a list", () => {
    const state = new ReconcileState(0, "this-term");
    state.noteVersion(compute({ shows: "Creating", status: { pendingWrite: recordOf() } }), 7);
    expect(state.known.write).toMatchObject({ phase: "open", openedAt: 7 });
  });
});

describe("an accepted PATCH", () => {
  const patched = {
    generation: 1,
    branchID: "br-main",
    fields: ["pooler.enabled"],
    listsWithout: [] as readonly number[],
    at: 0,
    tries: 2,
  };
  const wish = { linked: "ep-one", spec: { pooler: { enabled: true } } };
  const shows = (pooler_enabled: boolean, more: Partial<Endpoint> = {}) => [
    madeBy(compute(), { pooler_enabled, ...more }),
  ];
  const left = (
    before: Partial<typeof patched>,
    endpoints = shows(false),
    list: InputFields["list"] = {},
    fields: ComputeFields = wish,
  ) => after(fields, { patched: { ...patched, ...before } }, endpoints, list).patched;

  test("an accepted PATCH is over when a list shows what it asked for, and for another generation or endpoint", () => {
    expect(left({}, shows(true))).toBeUndefined();
    expect(left({ fields: ["branchID"] })).toBeUndefined();
    expect(left({ generation: 2 })).toBeUndefined();
    expect(left({}, [])).toBeUndefined();
  });

  test("an accepted PATCH that lists do not show counts the first and the last list without it, each once", () => {
    expect(left({})).toEqual({ ...patched, listsWithout: [startedAt] });
    expect(left({}, shows(false), { startedAt: 0 })?.listsWithout).toEqual([0]);
    expect(left({ listsWithout: [startedAt] })).toEqual({ ...patched, listsWithout: [startedAt] });
    expect(left({ listsWithout: [1, 2] })?.listsWithout).toEqual([1, startedAt]);
  });

  test("an accepted PATCH is not held against the service while it is being carried out", () => {
    expect(left({}, shows(false, { pending_state: "active" }))).toEqual(patched);
    expect(left({}, shows(false), { operations: [operation()] })).toEqual(patched);
    expect(left({}, shows(false), { operations: [operation({ status: "finished" })] })?.listsWithout).toHaveLength(1);
  });
});

test("what the status says was carried out is remembered, and kept where that is wiped", () => {
  const state = new ReconcileState(0, "this-term");
  const drift = [{ field: "pooler", ours: "true", theirs: "false" }];
  state.reported(compute({ status: { appliedGeneration: 3, drift } }).status, { kind: "settled" });
  expect(state.known.accepted).toMatchObject({ generation: 3, drift });
  state.reported({}, { kind: "settled" });
  expect(state.known.accepted).toMatchObject({ generation: 3, drift });
  state.reported(compute({ status: { appliedGeneration: 4 } }).status, { kind: "settled" });
  expect(state.known.accepted).toMatchObject({ generation: 4, drift: [] });
});

describe("the list that an answer is laid over", () => {
  test("the list under an answer to the first create may be from before the Compute was first seen, and after a relist may not", () => {
    const state = new ReconcileState(1000, "this-term", { lists: { countAfter: 1000, firstCreateAfter: 5 } });
    state.answerLaidOver(1500);
    expect(answersCountAfter(state.known)).toBe(5);
    state.needListAfter(2000);
    expect(answersCountAfter(state.known)).toBe(2000);
  });

  test("the list under a later write is as new as before that write", () => {
    const state = new ReconcileState(1000, "this-term", { lists: { countAfter: 1000, firstCreateAfter: 5 } });
    state.needListAfter(1200);
    state.answerLaidOver(1500);
    expect(answersCountAfter(state.known)).toBe(1200);
  });
});

test("an answered write is not forgotten for a status that was written before it", () => {
  const state = new ReconcileState(0, "this-term");
  const written = compute({ generation: 2, status: { appliedGeneration: 1, endpointID: "ep-one", appliedEntry: "" } });
  state.created("ep-one", written, "office");
  state.reported(written.status, { kind: "none" });
  expect(state.known.accepted).toMatchObject({ generation: 2, entry: "office" });
  state.reported({ appliedGeneration: 1 }, { kind: "none" });
  expect(state.known.accepted).toMatchObject({ generation: 2, entry: "office" });
  state.reported(written.status, { kind: "settled" });
  expect(state.known.accepted).toMatchObject({ entry: "" });
});
