import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import {
  type ComputeFields,
  compute,
  createdNote,
  createMark,
  endpoint,
  input,
  madeBy,
  now,
  uidOf,
} from "../../../support/builders.ts";

const settleMs = 60_000;
const pendingCreate = createMark();
const primary = compute({ annotations: { pendingCreate } });
const replica = compute({ annotations: { pendingCreate }, spec: { type: "read_only" } });
const since = "2026-01-01T00:00:00Z";

/** This process first saw the mark, and a list without the endpoint, so long ago. */
function seen(agoMs: number, firstListAgoMs: number | "never" = agoMs) {
  const first = firstListAgoMs === "never" ? {} : { firstListWithout: now - firstListAgoMs };
  return { pendingCreate: { since, seenAt: now - agoMs, ...first } };
}

describe("a create whose outcome is not known", () => {
  test("is settled by the endpoint that carries the marker", () => {
    expect(plan(...input({ compute: replica, endpoints: [madeBy(replica, { id: "ep-new" })] }))).toEqual({
      kind: "link",
      endpointID: "ep-new",
      proof: "marker",
      news: "created",
    });
  });

  test.each([
    ["one list", seen(settleMs + 100, 100), "wait"],
    ["two lists, the second begun too early", seen(settleMs - 1), "wait"],
    ["two lists, the second begun just before --create-settle and read after", seen(settleMs + 50), "wait"],
    ["no list before this one", seen(settleMs + 100, "never"), "wait"],
    ["two lists, the second begun --create-settle after the mark was first seen", seen(settleMs + 100), "create"],
  ])("of a replica: %s without the endpoint", (_, state, action) => {
    expect(plan(...input({ compute: replica, state }))).toMatchObject({ kind: action });
  });

  test("of a replica is waited for as CreateUnknown, which says how long", () => {
    expect(plan(...input({ compute: replica, state: seen(1000) }))).toMatchObject({
      reason: "CreateUnknown",
      message: expect.stringContaining("for 60 s (--create-settle)"),
      requeueAfterMs: settleMs - 1000,
    });
  });

  test("of a primary is sent again at once: the service refuses a second", () => {
    expect(plan(...input({ compute: primary }))).toMatchObject({ kind: "create", mark: { since } });
  });

  test("of a primary whose branch was edited meanwhile is waited for: on the new branch nothing would refuse a second", () => {
    const edited = compute({ annotations: { pendingCreate }, spec: { branchID: "br-next" } });
    expect(plan(...input({ compute: edited, state: seen(1000) }))).toMatchObject({ reason: "CreateUnknown" });
    expect(plan(...input({ compute: edited, state: seen(settleMs + 100) }))).toMatchObject({
      kind: "create",
      attributes: { branch_id: "br-next" },
      mark: { branchID: "br-next" },
    });
  });

  test.each([
    ["another base URL", "there-0000"],
    ["another key of the same base URL", "here-0000"],
    ["nothing that can be reported", ""],
  ])("through %s is not repeated here, and found here all the same", (_, through) => {
    const annotations = { pendingCreate: createMark({ through }) };
    for (const type of ["read_write", "read_only"]) {
      const self = compute({ annotations, spec: { type } });
      const neighbour = endpoint({ id: "ep-other", branch_id: "br-other", name: "by hand" });
      expect(plan(...input({ compute: self, endpoints: [neighbour], state: seen(settleMs * 10) }))).toMatchObject({
        reason: "CreateUnknown",
        message: expect.stringContaining("another base URL or key"),
      });
      expect(plan(...input({ compute: self, endpoints: [madeBy(self)] }))).toMatchObject({
        kind: "link",
        proof: "marker",
      });
    }
  });

  test("is nobody's business where the mark was copied with the manifest", () => {
    const copy = compute({
      annotations: { pendingCreate: createMark({ uid: uidOf("b") }) },
      spec: { type: "read_only" },
    });
    expect(plan(...input({ compute: copy }))).toMatchObject({ kind: "create", mark: { branchID: "br-main" } });
  });

  test.each(["", "{", "null", "[]", '"text"', '{"uid":7}'])("is nobody's business where the mark reads %j", (mark) => {
    const self = compute({ annotations: { pendingCreate: mark }, spec: { type: "read_only" } });
    expect(plan(...input({ compute: self }))).toMatchObject({ kind: "create" });
  });
});

describe("where the service shows no names, a create whose outcome is not known", () => {
  const list = { markers: "hidden" } as const;
  const there = (id: string, fields = {}) => endpoint({ id, ...fields });
  const replicaThere = (id: string, fields = {}) => there(id, { type: "read_only", ...fields });
  const longAgo = seen(settleMs * 100);
  const heldBy = (id: string, fields = {}) =>
    compute({ uid: uidOf("b"), linked: id, annotations: { createdEndpoint: createdNote(id, uidOf("b")) }, ...fields });

  test("of a primary is settled by the one that has appeared on the branch, linked without proof", () => {
    expect(plan(...input({ compute: primary, endpoints: [there("ep-new")], list, state: longAgo }))).toEqual({
      kind: "link",
      endpointID: "ep-new",
      proof: "none",
      news: "created",
    });
  });

  test("of a primary is not settled by what this process made for another Compute that is still to record it", () => {
    const makerOf = (uid: string) => ({ ...list, makerOf: (id: string) => (id === "ep-new" ? uid : undefined) });
    const planned = (uid: string) =>
      plan(...input({ compute: primary, endpoints: [there("ep-new")], list: makerOf(uid), state: longAgo }));
    expect(planned(uidOf("b"))).not.toMatchObject({ kind: "link" });
    expect(planned(uidOf("a"))).toMatchObject({ kind: "link", endpointID: "ep-new" });
  });

  test("of a primary whose endpoint was recorded and lost links no other primary that appears", () => {
    const self = compute({ linked: "ep-lost", annotations: { pendingCreate: createMark({ resent: true }) } });
    const action = plan(...input({ compute: self, endpoints: [there("ep-strangers")], list, state: longAgo }));
    expect(action).not.toMatchObject({ kind: "link" });
  });

  test("of a primary keeps its mark while another may yet arrive: until then the endpoint is not moved away", () => {
    const mark = { uid: uidOf("a"), branchID: "br-main" };
    const action = plan(...input({ compute: primary, endpoints: [there("ep-new")], list, state: seen(1000) }));
    expect(action).toMatchObject({ kind: "link", proof: "none", keepsMark: mark });
  });

  test("of a primary is settled by it though another is to adopt whatever primary stands there: that one waits", () => {
    const spec = { adopt: { branchPrimary: true } };
    const adopter = compute({ uid: uidOf("b"), name: "other", created: "2025-01-01T00:00:00Z", spec });
    const listed = { endpoints: [there("ep-new")], list };
    const settled = { kind: "link", endpointID: "ep-new" };
    expect(plan(...input({ compute: primary, others: [adopter], state: longAgo, ...listed }))).toMatchObject(settled);
    expect(plan(...input({ compute: adopter, others: [primary], ...listed }))).toMatchObject({ kind: "wait" });
  });

  describe("of two primaries of one branch is settled for one of them", () => {
    const created = "2025-01-01T00:00:00Z";
    const another = (fields: ComputeFields = {}) =>
      compute({
        uid: uidOf("b"),
        name: "other",
        annotations: { pendingCreate: createMark({ uid: uidOf("b"), resent: true }) },
        ...fields,
      });
    const stepOf = (self: Compute, other: Compute) =>
      plan(...input({ compute: self, others: [other], endpoints: [there("ep-new")], list, state: longAgo }));
    const links = { kind: "link", endpointID: "ep-new" };
    const waits = {
      kind: "wait",
      reason: "CreateUnknown",
      message: expect.stringContaining("Compute team/other"),
      requeueAfterMs: 5000,
    };

    test("the older, for which the other waits", () => {
      const older = another({ created });
      expect([stepOf(primary, older), stepOf(older, primary)]).toMatchObject([waits, links]);
    });

    test("the one that stays, though the other, which is being deleted, is older", () => {
      const leaving = another({ created, deleting: true });
      expect([stepOf(primary, leaving), stepOf(leaving, primary)]).toMatchObject([
        links,
        { ...waits, message: expect.stringContaining("Compute team/shop") },
      ]);
    });

    test.each<[string, ComputeFields]>([
      ["has its endpoint", { linked: "ep-own" }],
      ["is paused", { annotations: { pendingCreate: createMark({ uid: uidOf("b") }), paused: "true" } }],
      [
        "sent its create for another branch",
        { annotations: { pendingCreate: createMark({ uid: uidOf("b"), branchID: "br-next" }) } },
      ],
      [
        "sent its create through another key",
        { annotations: { pendingCreate: createMark({ uid: uidOf("b"), through: "there" }) } },
      ],
      ["is of another type", { spec: { type: "read_only" } }],
    ])("the younger, where the older %s", (_, fields) => {
      expect(stepOf(primary, another({ created, ...fields }))).toMatchObject(links);
    });
  });

  test.each([
    ["on another branch", there("ep-new", { branch_id: "br-next" }), []],
    ["that is a replica", replicaThere("ep-new"), []],
    ["that another Compute has", there("ep-new", { branch_id: "br-next" }), [heldBy("ep-new")]],
  ])(
    "of a primary takes none %s: with no primary on the branch it is sent again, for the service refuses a second",
    (_, newcomer, others) => {
      const action = plan(...input({ compute: primary, endpoints: [newcomer], others, list, state: seen(1000) }));
      expect(action).toMatchObject({ kind: "create" });
    },
  );

  test("of a primary takes none that another Compute has on the branch", () => {
    const action = plan(...input({ compute: primary, endpoints: [there("ep-new")], others: [heldBy("ep-new")], list }));
    expect(action).toMatchObject({ kind: "blocked", reason: "Conflict" });
  });

  test.each([
    ["none", []],
    ["one newcomer", [replicaThere("ep-new")]],
    ["several", [replicaThere("ep-new"), replicaThere("ep-newer")]],
  ])("of a replica stays unknown with %s, for ever: none is taken, and never is another sent", (_, endpoints) => {
    const action = plan(...input({ compute: replica, endpoints, list, state: longAgo }));
    expect(action).toMatchObject({ kind: "wait", reason: "CreateUnknown" });
    expect(action).toMatchObject({ message: expect.stringContaining(endpoints.map(({ id }) => id).join(", ")) });
  });

  test("of a replica is settled by a person who names the endpoint in spec.adopt, or who removes the mark", () => {
    const spec = { type: "read_only", adopt: { endpointID: "ep-newer" } };
    const reported = compute({ annotations: { pendingCreate }, spec });
    const endpoints = [replicaThere("ep-new"), replicaThere("ep-newer")];
    expect(plan(...input({ compute: reported, endpoints, list }))).toMatchObject({
      kind: "link",
      endpointID: "ep-newer",
    });
    const unmarked = compute({ spec: { type: "read_only" } });
    expect(plan(...input({ compute: unmarked, endpoints, list }))).toMatchObject({ kind: "create" });
  });

  test("of a replica is held back by a nameless one also while it is not known whether names are shown", () => {
    const unknown = { list: { markers: "unknown" }, state: longAgo } as const;
    const failedWrite = plan(...input({ compute: replica, endpoints: [replicaThere("ep-new")], ...unknown }));
    expect(failedWrite).toMatchObject({ kind: "wait", reason: "CreateUnknown" });
    // Where nothing stands that has no name, nothing depends on names.
    const free = plan(...input({ compute: replica, endpoints: [there("ep-primary")], ...unknown }));
    expect(free).toMatchObject({ kind: "create" });
  });
});

describe("a name that cannot be read", () => {
  const odd = (fields = {}) => endpoint({ id: "ep-odd", unreadable: ["name"], ...fields });

  test.each(["read_write", "read_only"])("on the branch of a pending create of a %s settles nothing", (type) => {
    const self = compute({ annotations: { pendingCreate }, spec: { type } });
    const waits = { kind: "wait", reason: "CreateUnknown", message: expect.stringContaining("ep-odd") };
    expect(plan(...input({ compute: self, endpoints: [odd({ type })], state: seen(settleMs * 100) }))).toMatchObject(
      waits,
    );
    const going = compute({ annotations: { pendingCreate }, spec: { type }, deleting: true });
    expect(plan(...input({ compute: going, endpoints: [odd({ type })], state: seen(settleMs * 100) }))).toMatchObject(
      waits,
    );
  });

  test("is no matter elsewhere, nor where another Compute has the endpoint", () => {
    const state = seen(settleMs * 100);
    const elsewhere = odd({ type: "read_only", branch_id: "br-next" });
    expect(plan(...input({ compute: replica, endpoints: [elsewhere], state }))).toMatchObject({ kind: "create" });
    const holder = compute({ uid: uidOf("b"), linked: "ep-odd", spec: { type: "read_only" } });
    const failedWrite = input({ compute: replica, endpoints: [odd({ type: "read_only" })], others: [holder], state });
    expect(plan(...failedWrite)).toMatchObject({ kind: "create" });
  });
});

describe("a primary whose create was sent again", () => {
  const self = compute({ annotations: { pendingCreate: createMark({ resent: true }) }, linked: "ep-new" });
  const endpoints = [madeBy(self, { id: "ep-new" })];

  test("keeps its mark while the first may still arrive, and is reconciled as soon as it no longer may", () => {
    expect(plan(...input({ compute: self, endpoints, state: seen(1000) }))).toMatchObject({
      kind: "settled",
      requeueAfterMs: settleMs - 1000,
    });
  });

  test("keeps its mark with the link to what came first, though that is not listed any more, as in a deletion", () => {
    const mark = createMark({ resent: true });
    const unlinked = compute({ annotations: { pendingCreate: mark }, deleting: true });
    const state = { proved: { endpointID: "ep-new", proof: "marker" }, ...seen(1000) } as const;
    expect(plan(...input({ compute: unlinked, state }))).toMatchObject({
      kind: "link",
      endpointID: "ep-new",
      keepsMark: { resent: true },
    });
  });

  test("loses its mark as soon as the first can no longer arrive", () => {
    const action = plan(...input({ compute: self, endpoints, state: seen(settleMs) }));
    expect(action).toEqual({ kind: "link", endpointID: "ep-new", proof: "marker", news: "none" });
  });
});
