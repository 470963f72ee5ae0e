import { describe, expect, test } from "vitest";
import type { BranchWrite } from "../../../src/operator/branch/action.ts";
import { identityOf } from "../../../src/operator/branch/action.ts";
import type { BranchMemory } from "../../../src/operator/branch/memory.ts";
import { refused } from "../../../src/operator/branch/refused.ts";
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

describe("a deletion", () => {
  test("a deletion that finds no branch has done its work", () => {
    const { outcome, memory } = failing(writes.delete, notFound("branch not found"));
    expect(memory).toMatchObject({ deleted: { id: "br-one", at }, failed: undefined });
    expect(outcome).toMatchObject({
      requeue: after(1000),
      condition: { reason: "Deleting", message: "The service deletes branch br-one and its computes." },
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
  const identity = identityOf(writes.create, object.metadata.generation ?? 0);
  const { fingerprint } = acting.access.client;
  const takenFor = (failures: number) =>
    ({
      write: identity,
      fingerprint,
      reason: "BranchExists",
      message: "first",
      until: 2,
      failures,
      branches: 0,
    }) as const;

  test.each([
    ["by the status", conflict],
    ["by the text", refusal(422, "branch already exists")],
  ])("a taken name is looked for at once, and the create tried again in ten seconds: %s", (_, failure) => {
    const { outcome, memory } = failing(writes.create, failure);
    expect(memory.failed).toMatchObject({ reason: "BranchExists", until: at + 10 * second, failures: 0 });
    expect(memory.failed?.message).toContain(
      `The service refuses the name "default/shop" (${failure.message}), and lists no branch`,
    );
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
  ])("a taken name is tried again ever later, since the first time, in the first words: in %s", (_, failures, ms) => {
    const { outcome, memory } = failing(writes.create, conflict, { failed: takenFor(failures) });
    expect(memory.failed).toEqual({ ...takenFor(failures + 1), until: at + ms });
    expect(outcome).toMatchObject({
      requeue: after(ms),
      condition: { reason: "BranchExists", message: "first" },
    });
  });

  test.each<[string, Partial<ReturnType<typeof takenFor>> | { reason: "ServiceUnavailable" }]>([
    ["the create failed for something else before", { reason: "ServiceUnavailable" }],
    ["another create was refused before", { write: identityOf({ op: "create", name: "other" }, 0) }],
    ["it was refused through another key", { fingerprint: "another" }],
  ])("a taken name is looked for from the start where %s", (_, before) => {
    const { outcome, memory } = failing(writes.create, conflict, { failed: { ...takenFor(3), ...before } });
    expect(memory.failed).toMatchObject({ failures: 0, until: at + 10 * second });
    expect(reasonOf(outcome)).toBe("Creating");
  });

  test.each([
    ["a limit", writes.create, refusal(409, "branches already exists", "BRANCHES_LIMIT_EXCEEDED")],
    ["a refusal of another kind", writes.create, refusal(422, "bad name")],
    ["another write", writes.patch, conflict],
    ["a right that is missing", writes.create, { kind: "forbidden", message: "already exists" } as const],
  ])("a taken name is not what is said by %s", (_, write, failure) => {
    const { outcome, memory } = failing(write, failure);
    expect(memory.failed?.reason).not.toBe("BranchExists");
    expect(reasonOf(outcome)).toBe(failure.kind === "forbidden" ? "Forbidden" : "Rejected");
  });
});

test("a create without a usable answer is looked for", () => {
  const { outcome } = failing(writes.create, ambiguous);
  expect(outcome).toMatchObject({
    requeue: after(1000),
    condition: { reason: "CreateUnknown", message: expect.stringContaining("no usable answer to the create") },
  });
});

test("an end without a usable answer says that the service did not answer", () => {
  const { outcome } = failing(writes.patch, ambiguous);
  expect(outcome.condition).toMatchObject({
    reason: "ServiceUnavailable",
    message: expect.stringContaining("request to change branch br-one"),
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
      fingerprint: acting.access.client.fingerprint,
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
