import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { annotationsOf } from "../../../src/operator/compute/observe/annotations.ts";
import { answersCountAfter, type ReadonlyState } from "../../../src/operator/compute/remembered.ts";
import { ReconcileState } from "../../../src/operator/compute/state.ts";
import {
  type ComputeFields,
  compute,
  createMark,
  endpoint,
  type InputFields,
  madeBy,
  now,
  observedBy,
  operation,
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
const mark = JSON.parse(createMark());
const since = "2026-01-01T00:00:00Z";

describe("a list", () => {
  test("proves which endpoint is ours, but for one that only the annotation names", () => {
    const linked = { linked: "ep-one" };
    expect(after(linked, {}, [madeBy(compute())]).proved).toEqual({ endpointID: "ep-one", proof: "signature" });
    expect(after(linked, {}, [endpoint()]).proved).toBeUndefined();
    const before = { endpointID: "ep-one", proof: "adopted" } as const;
    expect(after(linked, { proved: before }, [endpoint()]).proved).toEqual(before);
  });

  test("that lacks an endpoint whose deletion was answered ends that", () => {
    const answered = (...ids: string[]) => new Map(ids.map((id) => [id, { at: 0, before: 0 }]));
    const { answeredDeletes } = after({}, { answeredDeletes: answered("ep-one", "ep-gone") }, [endpoint()]);
    expect([...answeredDeletes.keys()]).toEqual(["ep-one"]);
  });

  test("begins the time for which an endpoint is missing, ends it, and keeps it", () => {
    const missing = { endpointID: "ep-one", firstListWithout: startedAt, proved: false };
    expect(after({ linked: "ep-one" }, {}).missing).toEqual(missing);
    expect(after({ linked: "ep-one" }, { missing: { ...missing, endpointID: "ep-other" } }).missing).toEqual(missing);
    const earlier = { ...missing, firstListWithout: 5, proved: true };
    expect(after({ linked: "ep-one" }, { missing: earlier }).missing).toEqual(earlier);
    expect(after({ linked: "ep-one" }, { missing }, [endpoint()]).missing).toBeUndefined();
    expect(after({}, { missing }).missing).toBeUndefined();
  });

  test.each([
    ["begins where the status says that there is one", 1, undefined, now],
    ["goes on", 1, 5, 5],
    ["is over where the status says that there is none", 0, 5, undefined],
    ["is over where the status says nothing", undefined, 5, undefined],
  ])("the time of a disabling write without an answer %s", (_, count, before, expected) => {
    const status = count === undefined ? {} : { unansweredDisables: count };
    const known = before === undefined ? {} : { unansweredDisableSince: before };
    expect(after({ status }, known).unansweredDisableSince).toBe(expected);
  });
});

describe("when the endpoint was last known disabled", () => {
  const sent = (disabled: boolean | undefined) => {
    const state = new ReconcileState(0, "this-term", { disabledAt: 3 });
    const attributes = disabled === undefined ? { pooler_enabled: true } : { disabled };
    const patch = { kind: "patch", endpointID: "ep-one", fields: [], progress: "Updating", corrects: [] } as const;
    state.patched({ ...patch, attributes }, compute(), 5);
    return state.known.disabledAt;
  };

  test("is when a PATCH that disables it was accepted, and never again once one that enables it was", () => {
    expect([sent(true), sent(false), sent(undefined)]).toEqual([5, Number.NEGATIVE_INFINITY, 3]);
  });

  test("is when it was seen so", () => {
    expect(after({}, {}, [madeBy(compute(), { disabled: true })]).disabledAt).toBe(now);
    expect(after({}, { disabledAt: 3 }, [madeBy(compute(), { disabled: false })]).disabledAt).toBe(3);
  });
});

describe("the endpoint that this process created", () => {
  const created = { endpointID: "ep-one", at: 5 };
  const made = [madeBy(compute())];

  test("is remembered until a list shows it, which an answer laid over lists does not", () => {
    expect(after({ linked: "ep-one" }, { created }, made).created).toBeUndefined();
    expect(after({ linked: "ep-one" }, { created }, made, { laidOver: true }).created).toEqual(created);
    expect(after({ linked: "ep-one" }, { created }).created).toEqual(created);
    const other = { ...created, endpointID: "ep-two" };
    expect(after({ linked: "ep-one" }, { created: other }, made).created).toEqual(other);
  });

  test("has the generation that the service accepted, until another endpoint is taken over", () => {
    const state = new ReconcileState(0, "this-term");
    state.created("ep-one", "marker", compute({ generation: 3 }), false, 5);
    expect(state.known).toMatchObject({ accepted: { endpointID: "ep-one", generation: 3 }, created });
    state.tookOver();
    expect(state.known.accepted).toBeUndefined();
  });
});

test("a Compute that comes under this selector is created on a list from after that", () => {
  const state = new ReconcileState(0, "this-term");
  state.entered(7);
  expect(state.known).toMatchObject({ enteredAt: 7, firstListAfter: 7 });
});

describe("a pending create", () => {
  const pending = (more: object = {}) => ({ pendingCreate: { since, seenAt: 5, mark, ...more } });
  const marked = (fields: Parameters<typeof createMark>[0] = {}) => ({
    annotations: { pendingCreate: createMark(fields) },
  });

  test("is known from when its mark was first seen; lists without its endpoint count from the first", () => {
    const first = after(marked(), {}).pendingCreate;
    expect(first).toEqual({ since, seenAt: now, mark, firstListWithout: startedAt });
    expect(after(marked(), pending({ firstListWithout: 7 })).pendingCreate).toMatchObject({
      seenAt: 5,
      firstListWithout: 7,
    });
    const another = after(marked(), pending({ since: "2025-01-01T00:00:00Z", firstListWithout: 7 })).pendingCreate;
    expect(another).toMatchObject({ seenAt: now, firstListWithout: startedAt });
  });

  test("has the newest words of its mark", () => {
    const state = new ReconcileState(0, "this-term", pending());
    state.saw(annotationsOf(compute(marked({ resent: true }))), now);
    expect(state.known.pendingCreate).toEqual({ since, seenAt: 5, mark: { ...mark, resent: true } });
    state.saw(annotationsOf(compute()), now);
    expect(state.known.pendingCreate?.mark).toEqual({ ...mark, resent: true });
  });

  test("is over when its endpoint is linked, unless another POST may yet take effect", () => {
    const linked = { linked: "ep-one" };
    const made = [madeBy(compute())];
    const notes = (fields = {}) => ({ endpointID: "ep-one", pendingCreate: createMark(fields) });
    expect(after({ annotations: notes() }, pending(), made).pendingCreate).toBeUndefined();
    expect(after({ annotations: notes({ resent: true }) }, pending(), made).pendingCreate).toMatchObject({
      firstListWithout: startedAt,
    });
    expect(after({ annotations: notes() }, pending(), [endpoint()]).pendingCreate).toBeDefined();
    expect(after({ ...linked, guarded: false }, pending(), made).pendingCreate).toBeUndefined();
    const resent = pending({ mark: { ...mark, resent: true } });
    expect(after({ ...linked, guarded: false }, resent, made).pendingCreate).toBeDefined();
  });

  test("whose mark is gone is over where a person took that alone, not where the finalizer went with it", () => {
    expect(after({}, pending()).pendingCreate).toBeUndefined();
    expect(after({ guarded: false }, pending()).pendingCreate).toEqual(pending().pendingCreate);
    expect(after({ guarded: false }, { pendingCreate: { since, seenAt: 5 } }).pendingCreate).toBeUndefined();
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

  test("is over when a list shows what it asked for, and for another generation or endpoint", () => {
    expect(left({}, shows(true))).toBeUndefined();
    expect(left({ fields: ["branchID"] })).toBeUndefined();
    expect(left({ generation: 2 })).toBeUndefined();
    expect(left({}, [])).toBeUndefined();
  });

  test("that does not show counts the first and the last list without it, each once", () => {
    expect(left({})).toEqual({ ...patched, listsWithout: [startedAt] });
    expect(left({}, shows(false), { startedAt: 0 })?.listsWithout).toEqual([0]);
    expect(left({ listsWithout: [startedAt] })).toEqual({ ...patched, listsWithout: [startedAt] });
    expect(left({ listsWithout: [1, 2] })?.listsWithout).toEqual([1, startedAt]);
  });

  test("is not held against the service while it is being carried out", () => {
    expect(left({}, shows(false, { pending_state: "active" }))).toEqual(patched);
    expect(left({}, shows(false), { operations: [operation()] })).toEqual(patched);
    expect(left({}, shows(false), { operations: [operation({ status: "finished" })] })?.listsWithout).toHaveLength(1);
  });
});

test("what the status says was carried out is remembered, and kept where that is wiped", () => {
  const state = new ReconcileState(0, "this-term");
  const drift = [{ field: "pooler", ours: "true", theirs: "false" }];
  state.reported(compute({ status: { appliedGeneration: 3, drift } }).status);
  expect(state.known.applied).toEqual({ generation: 3, drift });
  state.reported({});
  expect(state.known.applied).toEqual({ generation: 3, drift });
  state.reported(compute({ status: { appliedGeneration: 4 } }).status);
  expect(state.known.applied).toEqual({ generation: 4, drift: [] });
});

describe("the list that an answer is laid over", () => {
  test("after the first create may be from before the Compute was first seen, and after a relist may not", () => {
    const state = new ReconcileState(1000, "this-term", { firstListAfter: 5 });
    state.answerLaidOver(1500);
    expect(answersCountAfter(state.known)).toBe(5);
    state.needListAfter(2000);
    expect(answersCountAfter(state.known)).toBe(2000);
  });

  test("after a later write is as new as before that write", () => {
    const state = new ReconcileState(1000, "this-term", { firstListAfter: 5 });
    state.needListAfter(1200);
    state.answerLaidOver(1500);
    expect(answersCountAfter(state.known)).toBe(1200);
  });
});
