import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { PendingEndpoints } from "../../../src/operator/project/pending-endpoints.ts";
import { endpoint } from "../../support/builders.ts";

const listed = (startedAt: number, seen: Partial<Endpoint> = {}) => ({
  endpoints: [endpoint(seen)],
  startedAt,
  endedAt: startedAt + 1,
});

describe("a change of an endpoint that lists show in progress", () => {
  test.each([{ pending_state: "active" }, { current_state: "init" }])(
    "a change in progress that lists show as %o counts from the first list in a row",
    (seen) => {
      const pending = new PendingEndpoints();
      for (const at of [10, 20]) pending.listed(listed(at, seen));
      expect(pending.since("ep-one")).toBe(10);
      pending.listed(listed(30));
      expect(pending.since("ep-one")).toBeUndefined();
      pending.listed(listed(40, seen));
      expect([pending.since("ep-one"), pending.since("ep-other")]).toEqual([40, undefined]);
    },
  );

  test("a change in progress is over by a list that began after the time in question, and by none before", () => {
    const pending = new PendingEndpoints();
    expect(pending.isAtRestAfter("ep-one", 0)).toBeUndefined();
    pending.listed(listed(10));
    expect([5, 10].map((after) => pending.isAtRestAfter("ep-one", after))).toEqual([true, undefined]);
    pending.listed(listed(20, { pending_state: "active" }));
    expect(pending.isAtRestAfter("ep-one", 5)).toBe(false);
  });
});
