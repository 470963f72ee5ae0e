import { describe, expect, test } from "vitest";
import { begun } from "../../../src/operator/life/begin.ts";
import { nothingDue } from "../../../src/operator/life/due.ts";

const now = 1000;
const memory = { requeue: nothingDue, listsAfter: 5, asked: "before", failed: "failed" };
const due = (dueAt: number) => ({ ...memory, requeue: { ...nothingDue, dueAt } });

describe("a reconcile that begins", () => {
  test.each([
    ["is due", due(now), { listsAfter: now, requeue: { dueAt: undefined } }],
    ["was due before", due(now - 1), { listsAfter: now - 1, requeue: { dueAt: undefined } }],
    ["whose timer fired early", due(now + 0.9), { listsAfter: now + 0.9, requeue: { dueAt: undefined } }],
    ["is not due yet", due(now + 1), { listsAfter: 5, requeue: { dueAt: now + 1 } }],
    ["was due before lists counted", due(3), { listsAfter: 5, requeue: { dueAt: undefined } }],
    ["is not due at all", memory, { listsAfter: 5 }],
  ])("a reconcile that %s needs a list from then, and remembers what failed", (_, before, expected) => {
    const expectedAll = { asked: "before", failed: "failed", ...expected };
    expect(begun(before, { asks: undefined }, now)).toMatchObject(expectedAll);
    expect(begun(before, { asks: "before" }, now)).toMatchObject(expectedAll);
  });

  test("a requeue that is for a list which has come needs no other", () => {
    const after = begun(due(now), { asks: undefined, isListed: true }, now);
    expect(after).toMatchObject({ listsAfter: 5, requeue: { dueAt: undefined } });
  });

  test.each([
    ["nothing is due", memory],
    ["a requeue is due", due(now - 1)],
  ])("a person's new request needs a list from now, once, and what failed is tried at once: %s", (_, before) => {
    const after = begun(before, { asks: "now", isListed: true }, now);
    expect(after).toEqual({ requeue: nothingDue, listsAfter: now, asked: "now", failed: undefined });
    expect(begun(after, { asks: "now" }, now + 1)).toEqual(after);
  });
});
