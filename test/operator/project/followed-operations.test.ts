import { describe, expect, test } from "vitest";
import { FollowedOperations } from "../../../src/operator/project/followed-operations.ts";
import { operation } from "../../support/builders.ts";

const minute = 60_000;

/** Operations in progress by endpoint, and when each is expected to end. */
function running(ends: Record<string, number | undefined>, at = 0): FollowedOperations {
  const followed = new FollowedOperations();
  for (const [id, expectedEndAt] of Object.entries(ends))
    followed.set({
      operation: operation({ id, endpoint_id: `ep-${id}` }),
      since: at,
      updatedAt: at,
      changedAt: at,
      expectedEndAt,
    });
  return followed;
}

function ended(followed: FollowedOperations, id: string, endpointID: string, at: number): void {
  const fields = { id, endpoint_id: endpointID };
  const times = { since: at, updatedAt: at, changedAt: at, expectedEndAt: undefined };
  followed.set({ operation: operation(fields), ...times });
  followed.set({ operation: operation({ ...fields, status: "finished" }), ...times });
}

describe("an operation in progress", () => {
  test("counts as a running write until it is expected to end, and no longer at that moment", () => {
    const followed = running({ a: 700, b: 300, c: 500 });
    expect([0, 299, 300, 499, 500, 699, 700].map((at) => followed.writesRunningAt(at))).toEqual([3, 3, 2, 2, 1, 1, 0]);
    expect([0, 299, 300, 499, 500, 699, 700].map((at) => followed.nextEndAfter(at))).toEqual([
      300,
      300,
      500,
      500,
      700,
      700,
      undefined,
    ]);
  });

  test("counts once with the other operations of its endpoint", () => {
    const followed = new FollowedOperations();
    const counts = [
      ["a", "ep-one"],
      ["b", "ep-one"],
      ["c", "ep-two"],
    ].map(([id = "", endpoint_id]) => {
      const times = { since: 0, updatedAt: 0, changedAt: 0, expectedEndAt: undefined };
      followed.set({ operation: operation({ id, endpoint_id }), ...times });
      return followed.writesRunningAt(0);
    });
    expect(counts).toEqual([1, 1, 2]);
  });

  test("without an expected end counts for a minute without news", () => {
    const followed = running({ a: undefined });
    expect([followed.writesRunningAt(minute - 1), followed.writesRunningAt(minute)]).toEqual([1, 0]);
    expect(followed.nextEndAfter(0)).toBe(minute);
  });

  test("does not count for more than ten minutes, however often lists show it", () => {
    const followed = new FollowedOperations();
    followed.set({
      operation: operation(),
      since: 0,
      updatedAt: 10 * minute - 1000,
      changedAt: 0,
      expectedEndAt: undefined,
    });
    expect([followed.writesRunningAt(10 * minute - 1), followed.writesRunningAt(10 * minute)]).toEqual([1, 0]);
  });
});

describe("what is remembered of operations", () => {
  test("the newest thousand operations that ended are remembered, and all in progress, however old", () => {
    const followed = running(Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`running-${n}`, undefined])));
    for (let n = 0; n < 1000; n += 1) ended(followed, `over-${n}`, "ep", n);
    const known = (ids: string[]) => ids.filter((id) => followed.has(id));
    expect(known(["over-0", "over-1", "over-999"])).toEqual(["over-0", "over-1", "over-999"]);
    ended(followed, "over-1000", "ep", 1000);
    expect(known(["over-0", "over-1", "over-999", "over-1000"])).toEqual(["over-1", "over-999", "over-1000"]);
    expect([followed.inProgress.size, followed.has("running-0")]).toEqual([600, true]);
  });

  test("the end of an endpoint's last operation is remembered, of the thousand endpoints whose ends are the newest", () => {
    const followed = new FollowedOperations();
    for (let n = 0; n < 1000; n += 1) ended(followed, `op-${n}`, `ep-${n}`, n);
    ended(followed, "again", "ep-0", 5000);
    expect([followed.endedAt("ep-0"), followed.endedAt("ep-1")]).toEqual([5000, 1]);
    ended(followed, "one more", "ep-new", 6000);
    expect(["ep-0", "ep-1", "ep-2", "ep-new"].map((id) => followed.endedAt(id))).toEqual([
      5000,
      Number.NEGATIVE_INFINITY,
      2,
      6000,
    ]);
  });
});
