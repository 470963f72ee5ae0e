import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { compute, createMark, endpoint, input, now } from "../../../support/builders.ts";

// Which endpoints may be what a create made whose outcome is not known.

const hidden = { markers: "hidden" } as const;
const longAgo = {
  pendingCreate: { since: "2026-01-01T00:00:00Z", seenAt: now - 6_000_000, firstListWithout: now - 6_000_000 },
};
const resent = (fields: Parameters<typeof createMark>[0] = {}) => ({ pendingCreate: createMark(fields) });
const unknown = (text: string) => ({
  kind: "wait",
  reason: "CreateUnknown",
  message: expect.stringContaining(text),
});

describe("where the service shows names", () => {
  test("an endpoint without one that spec.adopt names is not what the create made", () => {
    const spec = { type: "read_only", adopt: { endpointID: "ep-new" } };
    const self = compute({ annotations: resent(), spec });
    const endpoints = [endpoint({ id: "ep-new", type: "read_only" })];
    expect(plan(...input({ compute: self, endpoints }))).toMatchObject(unknown("--create-settle"));
    // Only when the create is proved to have made nothing is the other taken over.
    expect(plan(...input({ compute: self, endpoints, state: longAgo }))).toMatchObject({
      kind: "link",
      endpointID: "ep-new",
      proof: "adopted",
    });
  });

  test("an endpoint with an unreadable name on the branch that the spec names since holds the next create back", () => {
    const self = compute({ annotations: resent(), spec: { type: "read_only", branchID: "br-next" } });
    const odd = endpoint({ id: "ep-odd", type: "read_only", branch_id: "br-next", unreadable: ["name"] });
    expect(plan(...input({ compute: self, endpoints: [odd], state: longAgo }))).toMatchObject(unknown("ep-odd"));
  });
});

describe("where the service shows no names", () => {
  test("a primary on the branch that the spec names since is not what the create made", () => {
    const self = compute({ annotations: resent(), spec: { branchID: "br-next" } });
    const endpoints = [endpoint({ id: "ep-by-hand", branch_id: "br-next" })];
    const action = plan(...input({ compute: self, endpoints, list: hidden, state: longAgo }));
    expect(action).toMatchObject({ kind: "blocked", reason: "PrimaryExists" });
  });

  test("a primary that appears where a create was sent again, and its endpoint is lost since, holds back another", () => {
    const planned = (mark: Parameters<typeof createMark>[0], deleting = false) => {
      const annotations = { endpointID: "ep-lost", ...resent(mark) };
      const moved = { spec: { branchID: "br-next" }, status: { state: "Lost" }, shows: "EndpointLost" } as const;
      const missing = { endpointID: "ep-lost", firstListWithout: now - 60_000, proved: true };
      const endpoints = [endpoint({ id: "ep-late" })];
      const self = compute({ annotations, deleting, ...moved });
      return plan(...input({ compute: self, endpoints, list: hidden, state: { ...longAgo, missing } }));
    };
    expect(planned({ resent: true })).toMatchObject(unknown("candidates: ep-late."));
    expect(planned({ resent: true }, true)).toMatchObject({ kind: "release" });
    // The only POST made what was lost: the other is somebody else's.
    expect(planned({})).toMatchObject({ kind: "create" });
  });

  test("none of two primaries of one branch is taken for what the create made", () => {
    const self = compute({ annotations: resent() });
    const endpoints = [endpoint({ id: "ep-two" }), endpoint()];
    const action = plan(...input({ compute: self, endpoints, list: hidden, state: longAgo }));
    expect(action).toMatchObject(unknown("candidates: ep-one, ep-two."));
  });

  test("a replica's candidates are named, or that there are none", () => {
    const self = compute({ annotations: resent(), spec: { type: "read_only" } });
    const action = plan(...input({ compute: self, list: hidden, state: longAgo }));
    expect(action).toMatchObject(unknown("candidates: none."));
  });

  test("a deletion ends where the endpoint that the create was to replace is listed again, and is kept unproved", () => {
    const annotations = { endpointID: "ep-one", ...resent({ replaces: "ep-one" }) };
    const self = compute({ linked: "ep-one", annotations, deleting: true });
    const action = plan(...input({ compute: self, endpoints: [endpoint()], list: hidden, state: longAgo }));
    expect(action).toMatchObject({ kind: "release", event: "Released" });
  });
});
