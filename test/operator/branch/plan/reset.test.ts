import { describe, expect, test } from "vitest";
import type { ListedBranch } from "../../../../src/api/branch.ts";
import type { Phase, Write } from "../../../../src/operator/life/record.ts";
import type { Branch, ResetRecord } from "../../../../src/operator/resources/branch.ts";
import { uidOf } from "../../../support/builders.ts";
import {
  type BranchFields,
  branch,
  hour,
  inMs,
  listed,
  minute,
  now,
  planned,
  type Seen,
  second,
  shows,
  takenIn,
} from "../builders.ts";

const asking = (fields: BranchFields = {}) =>
  branch({ linked: "br-one", annotations: { resetAt: "2" }, ...fields, status: { resetAt: "1", ...fields.status } });
const write = (value = "2", lastResetAt?: string) => ({
  kind: "write",
  write: { op: "reset", id: "br-one", sourceID: "br-main", value, lastResetAt },
});
const rest = shows("Available");

describe("the annotation resetAt", () => {
  test("a new value asks for one reset to the parent, with what the service shows of the last one", () => {
    const before = inMs(-hour);
    expect(planned({ object: asking() })).toStrictEqual(write());
    const branches = [listed({ last_reset_at: before })];
    expect(planned({ object: asking(), branches })).toStrictEqual(write("2", before));
  });

  test.each([
    ["none", { annotations: {} }],
    ["an empty value, as of a template that was given none,", { annotations: { resetAt: "" } }],
    ["a blank value", { annotations: { resetAt: " \n" } }],
    ["the value that was carried out", { annotations: { resetAt: "1" } }],
    ["a value that was there before any status", { status: { observedGeneration: -1 } }],
    ["a value in a status without a generation", { status: { observedGeneration: undefined } }],
  ])("%s asks for nothing", (_, fields) => {
    expect(planned({ object: asking(fields) })).toEqual(rest);
  });

  test("a first value asks for a reset once a status was written", () => {
    expect(planned({ object: asking({ status: { observedGeneration: 0, resetAt: undefined } }) })).toEqual(write());
  });
});

describe("a reset is refused", () => {
  const child = listed({ id: "br-two", name: "team/child", parent_id: "br-one" });

  test.each([
    [
      "an adopted branch",
      asking({ status: { proof: { uid: uidOf("a"), branchID: "br-one", by: "adopted" } } }),
      {},
      "Rejected",
      "An adopted branch is never reset.",
    ],
    [
      "a branch without a proof",
      asking({ status: { proof: undefined } }),
      {},
      "Rejected",
      "An adopted branch is never reset.",
    ],
    ["the default branch", asking(), { branches: [listed({ default: true })] }, "Protected", "never reset"],
    [
      "a protected branch",
      asking(),
      { branches: [listed({ protected: true })] },
      "Protected",
      "spec.protected to false.",
    ],
    [
      "a branch with children",
      asking(),
      { branches: [listed(), child] },
      "HasChildren",
      "children (team/child) to a copy.",
    ],
    [
      "a branch with a child without a name",
      asking(),
      { branches: [listed(), { ...child, name: undefined }] },
      "HasChildren",
      "children (br-two) to a copy.",
    ],
    ["a branch without a parent", asking(), { branches: [listed({ parent_id: undefined })] }, "Rejected", "no parent"],
    [
      "a branch whose parent is not listed",
      asking(),
      { branches: [listed({ parent_id: "br-gone" })] },
      "Rejected",
      "no parent",
    ],
    [
      "a branch that is being made",
      asking(),
      { branches: [listed({ current_state: "init" })] },
      "Resetting",
      "Branch br-one is init; the reset follows.",
    ],
  ])("a reset is refused for %s, and nothing is sent", (_, object, seen: Seen, reason, text) => {
    expect(planned({ object, ...seen })).toEqual(shows(reason, text));
  });

  test.each([
    ["of another branch's children", [listed(), { ...child, parent_id: "br-main" }]],
    ["of a state that the service does not show", [listed({ current_state: undefined })]],
    ["of flags that the service does not show", [listed({ default: undefined, protected: undefined })]],
  ])("no reset is refused because %s", (_, branches: ListedBranch[]) => {
    expect(planned({ object: asking(), branches })).toEqual(write());
  });
});

describe("a reset that was answered", () => {
  const object = (resetAt: string | undefined, more: BranchFields = {}) =>
    asking({ annotations: { resetAt }, ...more, status: { resetAt: "1", ...more.status } });
  const failure = { id: "op-one", action: "restore_branch", status: "failed", error: "disk full", failures_count: 3 };
  const message =
    "The reset of branch br-one: operation restore_branch ended as failed (failed attempts: 3): disk full. Look at the data, and set resetAt to a new value for another reset, or ask the service's support about operation op-one.";
  const failed = { kind: "show", reason: "OperationFailed", message };

  test.each([
    ["the same value", "1"],
    ["no value", undefined],
    ["the next value, which waits,", "2"],
  ])("a reset is in progress while one of its operations is, with %s", (_, resetAt) => {
    const seen = { object: object(resetAt), resetting: "inProgress" } as const;
    expect(planned(seen)).toEqual(shows("Resetting", "The service resets branch br-one"));
  });

  test("a reset says so where an operation of it failed, until another value is asked for, or none", () => {
    expect(planned({ object: object("1"), resetting: failure })).toStrictEqual(failed);
    expect(planned({ object: object("2"), resetting: failure })).toEqual(write());
    expect(planned({ object: object(undefined), resetting: failure })).toEqual(rest);
  });

  test("a reset that failed says so where the service gives no reason", () => {
    const resetting = { id: "op-one", action: "restore_branch", status: "cancelled" };
    expect(planned({ object: object("1"), resetting })).toEqual(
      shows("OperationFailed", "ended as cancelled (failed attempts: 0). Look at the data"),
    );
  });

  test("a reset that failed says so still once no process knows the operation", () => {
    const ready = {
      type: "Ready",
      status: "False",
      lastTransitionTime: inMs(-hour),
      reason: "OperationFailed",
      message,
    };
    const told = (resetAt: string | undefined) => object(resetAt, { status: { conditions: [ready] } });
    expect(planned({ object: told("1") })).toStrictEqual(failed);
    expect(planned({ object: told("2") })).toEqual(write());
    expect(planned({ object: told(undefined) })).toEqual(rest);
  });

  test("a reset that failed keeps nothing else from being sent", () => {
    const seen = { object: object("1", { spec: { protected: true } }), resetting: failure };
    expect(planned(seen)).toMatchObject({ kind: "write", write: { op: "patch", why: "protection" } });
  });
});

describe("the record of a reset that may have been sent", () => {
  const before = inMs(-hour);
  const record = (fields: object = {}, more: BranchFields = {}) =>
    asking({
      ...more,
      status: {
        pendingWrite: {
          uid: uidOf("a"),
          operation: "reset",
          value: "2",
          since: inMs(-minute),
          branchID: "br-one",
          ...fields,
        },
        ...more.status,
      },
    });
  const shown = (last_reset_at: string | undefined) => ({ branches: [listed({ last_reset_at })] });
  const done = {
    kind: "note",
    news: {},
    event: { type: "Normal", reason: "Reset", message: "Reset branch br-one to the head of its parent." },
  };
  const waits = shows("Resetting", "Whether it was carried out shows within about a minute.");
  const unknown = shows("Rejected", 'the reset that resetAt "2" asks for');
  /** The settle time and the lag of lists. */
  const settles = 70 * second;
  const remembered = (object: Branch, phase: Phase, fields: Partial<Write<ResetRecord>> = {}) => {
    const { pendingWrite } = object.status;
    if (pendingWrite === undefined) throw new Error("no record");
    return { reset: { record: pendingWrite, phase, openedAt: now, ...fields } };
  };
  const open = (object: Branch, ms: number) => remembered(object, "open", { openedAt: now - ms });

  test.each([
    ["has moved", { lastResetAt: before }, inMs(-second)],
    ["is there, where there was none", {}, inMs(-second)],
  ])("the reset is done where the service's time of the last one %s", (_, fields, at) => {
    expect(planned({ object: record(fields), ...shown(at) })).toStrictEqual(done);
  });

  test("a list that lags behind the record, or shows no time, does not say that the reset is done", () => {
    const object = record({ lastResetAt: before });
    expect(planned({ object, ...shown(inMs(-2 * hour)) })).toEqual(waits);
    expect(planned({ object, ...shown(undefined) })).toEqual(waits);
    expect(planned({ object, ...shown(undefined) }, open(object, settles))).toEqual(unknown);
  });

  test("the reset on record is done before the one that is asked for meanwhile", () => {
    const object = record({ value: "1b" });
    expect(planned({ object, ...shown(inMs(-second)) })).toStrictEqual(done);
  });

  test.each([
    ["of another branch", { branchID: "br-old" }],
    ["of another object, as in a copied manifest", { uid: uidOf("b") }],
  ])("a record %s says nothing", (_, fields) => {
    expect(planned({ object: record(fields), ...shown(before) })).toEqual(write("2", before));
  });

  const known = record({ lastResetAt: before });

  test.each([
    ["is waited for", open(known, settles - 1), waits],
    ["is sent again once nothing of it can land", open(known, settles), write("2", before)],
    ["is sent again at once where the service refused it", remembered(known, "unsent"), write("2", before)],
    ["of an earlier process is waited for from when this one first saw it", {}, waits],
    [
      "of another value, written since, is none of this process",
      open(record({ value: "1", since: inMs(-hour) }), settles),
      waits,
    ],
    [
      "that is newer than what a stale version shows counts",
      open(record({ value: "3", since: inMs(0), lastResetAt: before }), settles),
      write("2", before),
    ],
  ])("a reset without an answer %s", (_, memory, expected) => {
    expect(planned({ object: known, ...shown(before) }, memory)).toEqual(expected);
  });

  test("a reset whose record vanished is not sent twice", () => {
    const wiped = asking({ status: { pendingWrite: undefined } });
    expect(planned({ object: wiped, ...shown(before) }, open(known, 0))).toEqual(waits);
    expect(planned({ object: wiped, ...shown(before) }, remembered(known, "closed"))).toStrictEqual(done);
  });

  test("a reset that was carried out says nothing of the branch once it was gone and is back", () => {
    const unlinked = branch({ status: { resetAt: "2" } });
    expect(takenIn(unlinked, remembered(known, "closed")).reset).toBeUndefined();
    expect(takenIn(unlinked, remembered(known, "open")).reset).toBeDefined();
  });

  test("a record of the same value and time for another branch is none of what is remembered, and opens", () => {
    const other = record({ branchID: "br-two" }, { linked: "br-two" });
    expect(takenIn(other, open(known, settles)).reset).toMatchObject({
      record: { branchID: "br-two" },
      phase: "open",
      openedAt: now,
    });
  });

  test("a reset that the service has answered is done, also while lists lag and the status could not be written", () => {
    expect(planned({ object: known, ...shown(before) }, remembered(known, "closed"))).toStrictEqual(done);
  });

  test("a value that follows a reset waits for a list that shows that one, to be recorded beside its time", () => {
    const object = asking({ status: { resetAt: "1" } });
    const last = (ms: number) => remembered(record({ value: "1" }), "closed", { closedAt: now - ms });
    expect(planned({ object, ...shown(before) }, last(10 * second - 1))).toEqual({ kind: "noop", afterMs: 1 });
    expect(planned({ object, ...shown(before) }, last(10 * second))).toEqual(write("2", before));
  });

  test("only a list that began after the settle time proves that nothing was done", () => {
    const seen = { object: known, ...shown(before), startedAt: now - 2 * second };
    expect(planned(seen, open(known, settles))).toEqual(waits);
    expect(planned(seen, open(known, settles + 2 * second))).toEqual(write("2", before));
  });

  test.each([
    ["is waited for", "2", settles - 1, waits],
    ["is not sent again", "2", settles, unknown],
    ["is not sent again once the annotation is removed", undefined, settles, unknown],
    ["gives way to a new value", "3", settles, write("3")],
    ["is waited for before a new value is sent", "3", settles - 1, waits],
  ])("a reset that left no trace, at a service that shows no time, %s", (_, resetAt, ms, expected) => {
    const object = record({}, { annotations: { resetAt } });
    expect(planned({ object, ...shown(undefined) }, open(object, ms))).toEqual(expected);
  });
});
