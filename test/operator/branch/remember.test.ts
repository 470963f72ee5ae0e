import { describe, expect, test } from "vitest";
import { begin, noteList } from "../../../src/operator/branch/remember.ts";
import type { BranchMemory } from "../../../src/operator/branch/state.ts";
import { nothingDue } from "../../../src/operator/life/due.ts";
import { branch, hour, inMs, listed, memory, now, observation, type Seen } from "./builders.ts";

const mine = branch({ linked: "br-one" });
const failed = { write: "", reason: "Rejected", message: "", until: 0, failures: 0, branches: 2 } as const;

describe("a reconcile needs a newer list", () => {
  const began = (remembered: Partial<BranchMemory>, object = mine) => {
    const known = memory({ asked: JSON.stringify([undefined, undefined, false]), listsAfter: 5, ...remembered });
    begin(known, object, now);
    return known;
  };

  test.each([
    ["where it is due", { requeue: { ...nothingDue, dueAt: now } }, now, undefined],
    ["where it was due before", { requeue: { ...nothingDue, dueAt: now - 1 } }, now - 1, undefined],
    ["where its timer fired early", { requeue: { ...nothingDue, dueAt: now + 0.9 } }, now + 0.9, undefined],
    ["not before it is due", { requeue: { ...nothingDue, dueAt: now + 1 } }, 5, now + 1],
    ["not where none is due", {}, 5, undefined],
    ["never an older one than before", { requeue: { ...nothingDue, dueAt: 3 } }, 5, undefined],
  ])("a newer list is needed %s", (_, remembered, listsAfter, dueAt) => {
    expect(began(remembered)).toMatchObject({ listsAfter, requeue: { dueAt } });
  });

  test.each([
    ["a reconcile", branch({ annotations: { reconcileRequestedAt: "1" } })],
    ["a reset", branch({ annotations: { resetAt: "1" } })],
    ["the deletion", branch({ deleting: true })],
  ])("a newer list is needed where a person has asked for %s since, once", (_, object) => {
    const known = began({}, object);
    expect(known.listsAfter).toBe(now);
    begin(known, object, now + 1);
    expect(known.listsAfter).toBe(now);
  });

  test("no newer list is needed for what was asked before this process saw the object", () => {
    expect(began({ asked: undefined }, branch({ annotations: { resetAt: "1" } })).listsAfter).toBe(5);
  });

  test.each([
    ["a reconcile that is asked for", { annotations: { reconcileRequestedAt: "1" } }, undefined],
    [
      "a reconcile that was handled",
      { annotations: { reconcileRequestedAt: "1" }, status: { lastHandledReconcileAt: "1" } },
      failed,
    ],
    ["a reset that is asked for", { annotations: { resetAt: "1" } }, failed],
  ])("what failed is tried at once for %s, or waits on", (_, fields, left) => {
    expect(began({ failed }, branch(fields)).failed).toEqual(left);
  });
});

describe("a list", () => {
  const noted = (remembered: Partial<BranchMemory>, seen: Seen = {}) => {
    const known = memory(remembered);
    noteList(known, observation({ object: mine, startedAt: now - 1, ...seen }));
    return known;
  };
  const lacking = { branches: [] };

  test("a list begins the absence of a branch, or ends it", () => {
    expect(noted({}, lacking).missing).toEqual({ id: "br-one", since: now - 1, proved: false });
    const known = { id: "br-one", since: 3, proved: true };
    expect(noted({ missing: known }, lacking).missing).toEqual(known);
    expect(noted({ missing: { ...known, id: "br-old" } }, lacking).missing).toMatchObject({
      id: "br-one",
      proved: false,
    });
    expect(noted({ missing: known }).missing).toBeUndefined();
  });

  test.each([
    ["fewer branches than before makes room", failed, { branches: [] }, undefined],
    ["as many branches makes none", failed, {}, failed],
    [
      "fewer branches helps nothing else",
      { ...failed, reason: "Forbidden" as const },
      { branches: [] },
      { ...failed, reason: "Forbidden" },
    ],
  ])("a list of %s for a create that was refused", (_, before, seen, left) => {
    const known = noted({ failed: before }, seen);
    expect(known.failed).toEqual(left);
    expect(known.branches).toBe("branches" in seen ? 1 : 2);
  });

  const unseenEnd = { expiry: "after 1h", at: inMs(hour), sentAt: 0, resent: 0, differsSince: undefined };

  test.each([
    ["does not show it", unseenEnd, {}, now - 1],
    ["does not show it again", { ...unseenEnd, differsSince: 3 }, {}, 3],
    ["shows it", unseenEnd, { branches: [listed({ expires_at: inMs(hour) })] }, undefined],
    ["lacks the branch", unseenEnd, lacking, undefined],
  ])("a list says since when an end is not shown: one that %s", (_, before, seen: Seen, differsSince) => {
    expect(noted({ unseenEnd: { ...before } }, seen).unseenEnd).toMatchObject({ differsSince });
  });
});
