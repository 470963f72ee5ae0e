import { describe, expect, test } from "vitest";
import { begin, noteList } from "../../../src/operator/branch/begin.ts";
import type { BranchMemory } from "../../../src/operator/branch/memory.ts";
import { nothingDue } from "../../../src/operator/life/due.ts";
import { branch, hour, inMs, listed, memory, now, observation, type Seen, sentEnd } from "./builders.ts";

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
    ["a reset that is asked for", { annotations: { resetAt: "1" } }, undefined],
    ["nothing that is new", {}, failed],
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

  const unseen = sentEnd("after 1h", inMs(hour), { closedAt: 0 });

  test.each([
    ["does not show it", unseen, {}, { differsSince: now - 1 }],
    ["does not show it again", { ...unseen, differsSince: 3 }, {}, { differsSince: 3 }],
    ["shows it", unseen, { branches: [listed({ expires_at: inMs(hour) })] }, { differsSince: undefined }],
    ["lacks the branch", unseen, lacking, { differsSince: undefined }],
    [
      "comes while it may still be carried out",
      { ...unseen, phase: "open", openedAt: now - 179_999 },
      {},
      { phase: "open" },
    ],
    [
      "comes when it cannot be any more",
      { ...unseen, phase: "open", openedAt: now - 180_001 },
      {},
      { phase: "unsent" },
    ],
  ] as const)("a list says what became of an end: one that %s", (_, before, seen: Seen, expected) => {
    expect(noted({ ends: [before] }, seen).ends).toMatchObject([expected]);
  });

  test.each([
    ["that was answered", { closedAt: 0 }, 0],
    ["that cannot be carried out any more", { openedAt: 0 }, 0],
    ["that may still be carried out", {}, 1],
  ])("an end %s is forgotten or kept once the status says that it is applied", (_, fields, left) => {
    const object = branch({ linked: "br-one", status: { appliedExpiry: "after 1h", appliedEnd: inMs(hour) } });
    expect(noted({ ends: [sentEnd("after 1h", inMs(hour), fields)] }, { object }).ends).toHaveLength(left);
  });
});
