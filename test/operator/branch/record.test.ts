import { describe, expect, test } from "vitest";
import type { BranchWrite } from "../../../src/operator/branch/action.ts";
import type { BranchMemory } from "../../../src/operator/branch/memory.ts";
import { attemptOf, mayHaveMade, noteOf, resetRecord } from "../../../src/operator/branch/record.ts";
import { never, unsent } from "../../../src/operator/life/record.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import type { Answer } from "../../../src/operator/service-client/answer.ts";
import type { WrittenBranch } from "../../../src/operator/service-client/branch-calls.ts";
import { branch, inMs, listed, memory, post, sentEnd } from "./builders.ts";
import { writes } from "./executing.ts";

const leavesAt = 5;
const endsAt = 9;

/** The memory after a request that left at `leavesAt` and was answered at `endsAt`. */
async function answered(write: BranchWrite, answer: Answer<WrittenBranch>, remembered: Partial<BranchMemory> = {}) {
  const known = memory(remembered);
  const times = [leavesAt, endsAt];
  const clock = { monotonic: () => times.shift() ?? Number.NaN };
  await attemptOf(write, { memory: known, clock })?.send(() => Promise.resolve(answer));
  return known;
}

const ok = (expires_at?: string): Answer<WrittenBranch> => ({
  kind: "ok",
  status: 200,
  value: { branch: listed({ expires_at }), operations: [] },
});
const ambiguous = { kind: "ambiguous", message: "" } as const;
const busy = { kind: "busy", message: "" } as const;

describe("the record of a create", () => {
  const earlier = post(1, "earlier");
  const own = { by: "own" };

  test.each([
    [
      "is open from its end on without a usable answer",
      ambiguous,
      {},
      { record: own, phase: "open", openedAt: endsAt },
    ],
    ["is closed by an answer", ok(), {}, { record: own, phase: "closed", openedAt: never, closedAt: endsAt }],
    ["is none where the service refused it", busy, {}, undefined],
    ["leaves what an earlier process may have sent where it is refused", busy, earlier, earlier.post],
    [
      "leaves what an earlier process may have sent where it is answered",
      ok(),
      earlier,
      { ...earlier.post, phase: "closed", closedAt: endsAt },
    ],
    [
      "does not close an earlier one of this process",
      ok(),
      post(1),
      { record: own, phase: "closed", openedAt: 1, closedAt: endsAt },
    ],
  ])("the record of a create %s", async (_, answer, before, expected) => {
    expect((await answered(writes.create, answer, before)).post).toEqual(expected);
  });

  test.each([
    ["is not answered", ambiguous, {}, true],
    ["was not answered, before one that was", ok(), post(1), true],
    ["was answered", ok(), {}, false],
    ["was refused", busy, {}, false],
    ["is of an earlier process", busy, earlier, false],
  ])("a create may have made a branch that nobody knows if it %s", async (_, answer, before, expected) => {
    expect(mayHaveMade(await answered(writes.create, answer, before))).toBe(expected);
  });
});

describe("the record of an end", () => {
  const { expiry, at } = writes.patch.end;
  const noted = { record: { expiry, at }, unseen: 0, differsSince: undefined };

  test.each([
    ["is open without a usable answer", ambiguous, [], [{ ...noted, phase: "open", openedAt: endsAt }]],
    ["is forgotten once an answer shows it", ok(at), [sentEnd(expiry, at)], []],
    [
      "is closed by an answer that does not show it",
      ok(),
      [],
      [{ ...noted, phase: "closed", openedAt: endsAt, closedAt: endsAt, unseen: 1 }],
    ],
    [
      "counts the answers that do not show it",
      ok(),
      [sentEnd(expiry, at, { closedAt: 1, differsSince: 2 })],
      [{ ...noted, phase: "closed", openedAt: endsAt, closedAt: endsAt, unseen: 2 }],
    ],
    ["is none where the service refused it", busy, [], []],
    ["stays as it was where the service refused one more", busy, [sentEnd(expiry, at)], [sentEnd(expiry, at)]],
    [
      "stands beside those of other expiries that may still be carried out, alone",
      ambiguous,
      [sentEnd("after 71h", inMs(0)), sentEnd("after 70h", inMs(0), { closedAt: 1 })],
      [sentEnd("after 71h", inMs(0)), { ...noted, phase: "open", openedAt: endsAt }],
    ],
  ])("the record of an end %s", async (_, answer, ends, expected) => {
    expect((await answered(writes.patch, answer, { ends })).ends).toEqual(expected);
  });

  test("a renewal has a record as any end has", async () => {
    const { ends } = await answered(writes.renewal, ambiguous);
    expect(ends).toMatchObject([{ record: writes.renewal.end, phase: "open" }]);
  });

  test.each([
    ["a change of the protection", writes.protection],
    ["a deletion", writes.delete],
  ])("%s has no record", (_, write) => {
    expect(attemptOf(write, { memory: memory(), clock: { monotonic: () => 0 } })).toBeUndefined();
  });
});

describe("the record of a reset", () => {
  const object = branch({ linked: "br-one" });
  const record = resetRecord(writes.reset, object.metadata, 0);

  test.each([
    ["is open without a usable answer", ambiguous, { phase: "open", openedAt: endsAt }],
    ["is closed by an answer", ok(), { phase: "closed", closedAt: endsAt }],
    ["is unsent where the service refused it", busy, { phase: "unsent", openedAt: never }],
  ])("the record of a reset %s", async (_, answer, expected) => {
    const { reset } = await answered(writes.reset, answer, { reset: unsent(record) });
    expect(reset).toMatchObject({ record, ...expected });
  });

  const carriedOut = { resetAt: record.value, appliedExpiry: undefined };
  test.each([
    ["carries its record while it may be carried out", "open", object, { pendingWrite: record }],
    ["has no record before it is sent or once it is refused", "unsent", object, {}],
    ["says that its value is carried out once it is answered", "closed", object, carriedOut],
    ["says so too while it has the record still", "closed", recorded(record.value), carriedOut],
    ["says so once", "closed", branch({ linked: "br-one", status: { resetAt: record.value } }), {}],
    ["says nothing of the reset of another branch", "open", branch({ linked: "br-two" }), {}],
    ["says nothing of an answered reset of another branch", "closed", branch({ linked: "br-two" }), {}],
  ] as const)("a status %s", (_, phase, { status }, expected) => {
    const note = noteOf(memory({ reset: { record, phase, openedAt: 0 } }), status);
    expect(note).toStrictEqual({ pendingWrite: undefined, ...expected });
  });

  function recorded(resetAt: string): Branch {
    return branch({ linked: "br-one", status: { resetAt, pendingWrite: record } });
  }
});
