import { describe, expect, test } from "vitest";
import { plan } from "../../../src/operator/compute/plan.ts";
import { compute, createdNote, createMark, endpoint, madeBy, now, uidOf, view } from "../../support/builders.ts";

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
    expect(plan(view({ compute: replica, endpoints: [madeBy(replica, { id: "ep-new" })] }))).toEqual({
      step: "link",
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
  ])("of a replica: %s without the endpoint", (_, memory, step) => {
    expect(plan(view({ compute: replica, memory }))).toMatchObject({ step });
  });

  test("of a replica is waited for as CreateUnknown, which says how long", () => {
    expect(plan(view({ compute: replica, memory: seen(1000) }))).toMatchObject({
      reason: "CreateUnknown",
      message: expect.stringContaining("for 60 s (--create-settle)"),
      lookInMs: settleMs - 1000,
    });
  });

  test("of a primary is sent again at once: the service refuses a second", () => {
    expect(plan(view({ compute: primary }))).toMatchObject({ step: "create", mark: { since } });
  });

  test("of a primary whose branch was edited meanwhile is waited for: on the new branch nothing would refuse a second", () => {
    const edited = compute({ annotations: { pendingCreate }, spec: { branchID: "br-next" } });
    expect(plan(view({ compute: edited, memory: seen(1000) }))).toMatchObject({ reason: "CreateUnknown" });
    expect(plan(view({ compute: edited, memory: seen(settleMs + 100) }))).toMatchObject({
      step: "create",
      attributes: { branch_id: "br-next" },
      mark: { branchID: "br-next" },
    });
  });

  test("through another base URL or key is not repeated here", () => {
    const self = compute({ annotations: { pendingCreate: createMark({ through: "there" }) } });
    expect(plan(view({ compute: self, memory: seen(settleMs * 10) }))).toMatchObject({
      reason: "CreateUnknown",
      message: expect.stringContaining("another base URL or key"),
    });
  });

  test("is nobody's business where the mark was copied with the manifest", () => {
    const copy = compute({
      annotations: { pendingCreate: createMark({ uid: uidOf("b") }) },
      spec: { type: "read_only" },
    });
    expect(plan(view({ compute: copy }))).toMatchObject({ step: "create", mark: { before: [] } });
  });

  test("has a mark that holds of ten thousand neighbours only those that it could be taken for: annotations are small", () => {
    const self = compute({ spec: { type: "read_only" } });
    const neighbours = Array.from({ length: 10_000 }, (_, index) =>
      endpoint({ id: `ep-${index}`, type: "read_only", name: `k8s-${uidOf(index + 256)}` }),
    );
    const nameless = endpoint({ id: "ep-nameless", type: "read_only" });
    expect(plan(view({ compute: self, endpoints: [...neighbours, nameless] }))).toMatchObject({
      step: "create",
      mark: { before: ["ep-nameless"] },
    });
  });

  test.each(["", "{", "null", "[]", '"text"', '{"uid":7}'])("is nobody's business where the mark reads %j", (mark) => {
    const self = compute({ annotations: { pendingCreate: mark }, spec: { type: "read_only" } });
    expect(plan(view({ compute: self }))).toMatchObject({ step: "create" });
  });
});

describe("where the service shows no names, a create whose outcome is not known", () => {
  const list = { markers: "hidden" } as const;
  const self = compute({
    annotations: { pendingCreate: createMark({ before: ["ep-old"] }) },
    spec: { type: "read_only" },
  });
  const there = (id: string, fields = {}) => endpoint({ id, type: "read_only", ...fields });
  const old = there("ep-old");

  /** Lists have shown it for so long. */
  const listedFor = (ms: number) => ({
    pendingCreate: { since, seenAt: now - 60_000, nameless: new Map([["ep-new", now - 100 - ms]]) },
  });

  test("is settled by it though another is to adopt whatever primary stands there: that one waits", () => {
    const maker = compute({ annotations: { pendingCreate: createMark() } });
    const spec = { adopt: { branchPrimary: true } };
    const adopter = compute({ uid: uidOf("b"), name: "other", created: "2025-01-01T00:00:00Z", spec });
    const listed = { endpoints: [endpoint({ id: "ep-new" })], list };
    expect(plan(view({ compute: maker, others: [adopter], memory: listedFor(10_000), ...listed }))).toMatchObject({
      step: "link",
      endpointID: "ep-new",
    });
    expect(plan(view({ compute: adopter, others: [maker], ...listed }))).toMatchObject({ step: "wait" });
  });

  test("is settled by the only newcomer", () => {
    const endpoints = [old, there("ep-new")];
    expect(plan(view({ compute: self, endpoints, list, memory: listedFor(10_000) }))).toEqual({
      step: "link",
      endpointID: "ep-new",
      proof: "created",
      news: "created",
    });
  });

  test("takes no newcomer that another Compute had meanwhile, though that has let it go, and writes that down", () => {
    const endpoints = [old, there("ep-new")];
    const memory = { pendingCreate: { ...listedFor(10_000).pendingCreate, others: new Set(["ep-new"]) } };
    const before = ["ep-new", "ep-old"];
    const noted = plan(view({ compute: self, endpoints, list, memory }));
    expect(noted).toMatchObject({ step: "remark", mark: { uid: uidOf("a"), branchID: "br-main", before } });
    // The next leader remembers nothing.
    const told = compute({ annotations: { pendingCreate: createMark({ before }) }, spec: { type: "read_only" } });
    const later = view({ compute: told, endpoints, list, memory: listedFor(10_000) });
    expect(plan(later)).toMatchObject({ step: "wait", reason: "CreateUnknown" });
  });

  test("takes no newcomer before whoever was told of it had the time to note that", () => {
    const endpoints = [old, there("ep-new")];
    expect(plan(view({ compute: self, endpoints, list, memory: listedFor(4000) }))).toMatchObject({
      step: "wait",
      reason: "CreateUnknown",
      lookInMs: 5900,
    });
  });

  test("leaves the only newcomer to an older Compute that waits for one in the same place", () => {
    const pendingOther = (created: string, branchID?: string) =>
      compute({
        uid: uidOf("b"),
        created,
        annotations: {
          pendingCreate: createMark({ uid: uidOf("b"), ...(branchID === undefined ? {} : { branchID }) }),
        },
        spec: { type: "read_only" },
      });
    const stepBeside = (other: ReturnType<typeof compute>) => {
      const endpoints = [old, there("ep-new")];
      return plan(view({ compute: self, endpoints, list, memory: listedFor(10_000), others: [other] })).step;
    };
    expect(stepBeside(pendingOther("2025-12-31T00:00:00Z"))).toBe("wait");
    expect(stepBeside(pendingOther("2026-01-02T00:00:00Z"))).toBe("link");
    expect(stepBeside(pendingOther("2025-12-31T00:00:00Z", "br-other"))).toBe("link");
  });

  test.each([
    ["none", []],
    ["several", [there("ep-new"), there("ep-newer")]],
  ])("stays unknown with %s, for ever, and never is another sent", (_, newcomers) => {
    const step = plan(view({ compute: self, endpoints: [old, ...newcomers], list, memory: seen(settleMs * 100) }));
    expect(step).toMatchObject({ step: "wait", reason: "CreateUnknown" });
  });

  test.each([
    ["on another branch", there("ep-new", { branch_id: "br-next" }), []],
    ["of another type", there("ep-new", { type: "read_write" }), []],
    ["that has a name", there("ep-new", { name: "by hand" }), []],
    [
      "that another Compute is linked to",
      there("ep-new"),
      [
        compute({
          uid: uidOf("b"),
          linked: "ep-new",
          annotations: { createdEndpoint: createdNote("ep-new", uidOf("b")) },
        }),
      ],
    ],
  ])("takes no newcomer %s", (_, newcomer, others) => {
    expect(plan(view({ compute: self, endpoints: [old, newcomer], others, list }))).toMatchObject({
      step: "wait",
      reason: "CreateUnknown",
    });
  });

  test("is settled by a person who names the endpoint in spec.adopt, as the message says", () => {
    const adopt = { endpointID: "ep-newer" };
    const told = compute({ annotations: { pendingCreate: createMark() }, spec: { type: "read_only", adopt } });
    const endpoints = [there("ep-new"), there("ep-newer")];
    expect(plan(view({ compute: told, endpoints, list }))).toMatchObject({ step: "link", endpointID: "ep-newer" });
  });

  test("is held back by a newcomer also while it is not known whether names are shown", () => {
    const endpoints = [there("ep-new")];
    const unknown = view({ compute: self, endpoints, list: { markers: "unknown" }, memory: seen(settleMs * 100) });
    expect(plan(unknown)).toMatchObject({ step: "wait", reason: "CreateUnknown" });
  });
});

test("a pending create whose finalizer a person took away gets it back at once, or a deletion would not wait", () => {
  const bare = compute({ annotations: { pendingCreate }, guarded: false });
  const step = { step: "remark", mark: { uid: uidOf("a"), branchID: "br-main" } };
  expect(plan(view({ compute: bare }))).toMatchObject(step);
  const sight = { kind: "blocked", reason: "Unauthorized", message: "no", projectGone: false } as const;
  expect(plan(view({ compute: bare, sight }))).toMatchObject(step);
});

describe("a primary whose create was sent again", () => {
  const self = compute({ annotations: { pendingCreate: createMark({ resent: true }) }, linked: "ep-new" });
  const endpoints = [madeBy(self, { id: "ep-new" })];

  test("keeps its mark while the first may yet arrive, and is looked at as soon as it no longer may", () => {
    expect(plan(view({ compute: self, endpoints, memory: seen(1000) }))).toMatchObject({
      step: "settled",
      lookInMs: settleMs - 1000,
    });
  });

  test("loses its mark as soon as the first can no longer arrive", () => {
    const step = plan(view({ compute: self, endpoints, memory: seen(settleMs) }));
    expect(step).toEqual({ step: "link", endpointID: "ep-new", proof: "marker", news: "none" });
  });
});
