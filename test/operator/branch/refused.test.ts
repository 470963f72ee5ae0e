import { describe, expect, test } from "vitest";
import type { BranchWrite } from "../../../src/operator/branch/action.ts";
import { identityOf } from "../../../src/operator/branch/action.ts";
import { refused } from "../../../src/operator/branch/refused.ts";
import type { BranchMemory } from "../../../src/operator/branch/state.ts";
import { after } from "../../../src/operator/life/outcome.ts";
import type { Failure } from "../../../src/operator/service-client/answer.ts";
import { hour, minute, second } from "./builders.ts";
import { Acting, messageOf, reasonOf, writes } from "./executing.ts";

const acting = new Acting();
const object = acting.stored();
const at = 5000;
await acting.clock.advance(at);

/** What becomes of a write that failed so, five seconds after the begin, and what is remembered then. */
function failing(write: BranchWrite, failure: Failure, remembered: Partial<BranchMemory> = {}) {
  const memory = { ...acting.memory, ...remembered };
  const outcome = refused(write, failure, { object, memory, clock: acting.clock }, acting.access);
  return { outcome, memory };
}

const ambiguous: Failure = { kind: "ambiguous", message: "HTTP 500" };
const notFound = (message: string): Failure => ({ kind: "notFound", message });
const refusal = (status: number, message = "no", code = ""): Failure => ({ kind: "refused", status, code, message });
const forbidden: Failure = { kind: "forbidden", message: "no" };

test("a write that never left is planned again at once", () => {
  const { outcome, memory } = failing(writes.patch, { kind: "superseded", message: "changed" });
  expect(outcome).toMatchObject({ requeue: { kind: "now" }, condition: { kind: "unchanged" } });
  expect(memory).toEqual(acting.memory);
});

test("a reset that never left is no request that may be carried out: its record is taken back", () => {
  const { outcome, memory } = failing(writes.reset, { kind: "superseded", message: "changed" });
  expect(outcome).toMatchObject({
    requeue: { kind: "now" },
    condition: { kind: "unchanged" },
    news: { pendingWrite: undefined },
  });
  expect(Object.keys(outcome.news)).toEqual(["pendingWrite"]);
  expect(memory).toEqual({ ...acting.memory, reset: { value: "1", fate: "unsent", at } });
});

describe("a deletion", () => {
  test("a deletion that finds no branch has done its work", () => {
    const { outcome, memory } = failing(writes.delete, notFound("branch not found"));
    expect(memory).toMatchObject({ deleted: { id: "br-one", at }, failed: undefined });
    expect(outcome).toMatchObject({
      requeue: after(1000),
      condition: { reason: "Deleting", message: "The service deletes the branch and its computes: br-one." },
    });
  });

  test.each([
    ["that finds no project", writes.delete, notFound("project not found"), "ProjectNotFound"],
    ["that may not be made", writes.delete, forbidden, "Forbidden"],
    ["is not what finds no branch to change", writes.patch, notFound("branch not found"), "BranchNotFound"],
  ])("%s has not", (_, write, failure, reason) => {
    const { outcome, memory } = failing(write, failure);
    expect(memory.deleted).toBeUndefined();
    expect(outcome.condition).toMatchObject({ reason });
  });
});

describe("a name that is taken", () => {
  const conflict = refusal(409, "the name is in use");

  test.each([
    ["by the status", conflict],
    ["by the text", refusal(422, "branch already exists")],
  ])("a taken name is looked for at once, and the create tried again in ten seconds: %s", (_, failure) => {
    const { outcome, memory } = failing(writes.create, failure);
    expect(memory.nameTaken).toEqual({ since: at, said: failure.message, triedAt: at + 10 * second, tries: 0 });
    expect(memory.failed).toBeUndefined();
    expect(outcome).toMatchObject({
      requeue: after(1000),
      condition: {
        reason: "Creating",
        message: 'The service says that branch "default/shop" exists. The branches are listed again.',
      },
    });
  });

  test.each([
    ["a minute", 0, minute],
    ["two minutes", 1, 2 * minute],
    ["an hour", 20, hour],
  ])("a taken name is tried again ever later, since the first time, in the first words: in %s", (_, tries, ms) => {
    const nameTaken = { since: 1, said: "first", triedAt: 2, tries };
    const { outcome, memory } = failing(writes.create, conflict, { nameTaken });
    expect(memory.nameTaken).toEqual({ since: 1, said: "first", triedAt: at + ms, tries: tries + 1 });
    expect(outcome).toMatchObject({
      requeue: after(ms),
      condition: {
        reason: "BranchExists",
        message: expect.stringContaining('The service refuses the name "default/shop" (first), and lists no branch'),
      },
    });
  });

  test.each([
    ["a limit", writes.create, refusal(409, "branches already exists", "BRANCHES_LIMIT_EXCEEDED")],
    ["a refusal of another kind", writes.create, refusal(422, "bad name")],
    ["another write", writes.patch, conflict],
    ["a right that is missing", writes.create, { kind: "forbidden", message: "already exists" } as const],
  ])("a taken name is not what is said by %s", (_, write, failure) => {
    const { outcome, memory } = failing(write, failure);
    expect(memory.nameTaken).toBeUndefined();
    expect(reasonOf(outcome)).toBe(failure.kind === "forbidden" ? "Forbidden" : "Rejected");
  });
});

describe("a write without a usable answer", () => {
  const { end } = writes.patch;
  const earlier = { expiry: "after 71h", at: "2026-01-10T00:00:00Z", sentAt: 1 };

  test("a write without an answer that creates is looked for, and remembered until it can have no effect", () => {
    const { outcome, memory } = failing(writes.create, ambiguous);
    expect(memory.unansweredPost).toBe(at);
    expect(outcome).toMatchObject({
      requeue: after(1000),
      condition: { reason: "CreateUnknown", message: expect.stringContaining("no usable answer to the create") },
    });
    expect(failing(writes.create, forbidden).memory.unansweredPost).toBeUndefined();
    expect(failing(writes.patch, ambiguous).memory.unansweredPost).toBeUndefined();
  });

  test("a write without an answer that sends an end is remembered beside those for other expiries", () => {
    const unansweredEnds = [earlier, { ...end, at: "2026-01-09T00:00:00Z", sentAt: 2 }];
    const { outcome, memory } = failing(writes.patch, ambiguous, { unansweredEnds });
    expect(memory.unansweredEnds).toEqual([earlier, { ...end, sentAt: at }]);
    expect(outcome.condition).toMatchObject({
      reason: "ServiceUnavailable",
      message: expect.stringContaining("request to change branch br-one"),
    });
  });

  test.each([
    ["that renews a lease", writes.renewal, ambiguous],
    ["that changes the protection", writes.protection, ambiguous],
    ["is none where the service refused the end", writes.patch, refusal(422)],
  ])("%s leaves no end to remember", (_, write, failure) => {
    expect(failing(write, failure, { unansweredEnds: [earlier] }).memory.unansweredEnds).toEqual([earlier]);
  });

  test("a write without an answer that resets may be carried out, whatever was refused before", () => {
    const { memory } = failing(writes.reset, ambiguous, { reset: { value: "1", fate: "unsent", at: 1 } });
    expect(memory.reset).toEqual({ value: "1", fate: "unanswered", at });
  });

  test("a write without an answer is no reset that the service refused: nothing of it is on its way", () => {
    const { memory } = failing(writes.reset, { kind: "busy", message: "busy", retryAfterMs: 2000 });
    expect(memory.reset).toEqual({ value: "1", fate: "unsent", at });
    expect(failing(writes.patch, ambiguous).memory.reset).toBeUndefined();
  });
});

describe("a write that failed", () => {
  test.each([
    ["create", writes.create, 'refused to create branch "default/shop"'],
    ["patch", writes.patch, "refused to change branch br-one"],
    ["reset", writes.reset, "refused to reset branch br-one"],
    ["delete", writes.delete, "refused to delete branch br-one"],
  ])("a failed write says what the service could not do: %s", (_, write, text) => {
    const { outcome } = failing(write, refusal(422));
    expect(outcome.condition).toMatchObject({ reason: "Rejected", message: expect.stringContaining(text) });
  });

  test("a failed write is remembered with what it sent, when it may be sent again, and how many branches there were", () => {
    const { outcome, memory } = failing(writes.patch, refusal(422), { branches: 7 });
    expect(memory.failed).toEqual({
      write: identityOf(writes.patch, 1),
      through: acting.access.client.through,
      reason: "Rejected",
      message: messageOf(outcome),
      until: at + minute,
      failures: 0,
      branches: 7,
    });
    expect(outcome.requeue).toEqual(after(minute));
  });

  test("a failed write is sent again ever later while it is the same", () => {
    const { memory } = failing(writes.patch, refusal(422));
    expect(failing(writes.patch, refusal(422), memory).outcome.requeue).toEqual(after(2 * minute));
    expect(failing(writes.protection, refusal(422), memory).outcome.requeue).toEqual(after(minute));
  });

  test("a failed write waits for as long as the service asks for", () => {
    const { outcome } = failing(writes.patch, { kind: "rateLimited", message: "slow down", retryAfterMs: 90_000 });
    expect(outcome).toMatchObject({ requeue: after(90_000), condition: { reason: "RateLimited" } });
  });
});
