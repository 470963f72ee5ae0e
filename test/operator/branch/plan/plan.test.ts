import { describe, expect, test } from "vitest";
import type { ListedBranch } from "../../../../src/api/branch.ts";
import type { Unobserved } from "../../../../src/operator/branch/observation.ts";
import { planBranch } from "../../../../src/operator/branch/plan/plan.ts";
import type { Branch } from "../../../../src/operator/resources/branch.ts";
import { uidOf } from "../../../support/builders.ts";
import {
  type BranchFields,
  branch,
  day,
  hour,
  inMs,
  listed,
  madeBy,
  memory,
  minute,
  now,
  planned,
  type Seen,
  second,
  sentEnd,
  shows,
  subject,
} from "../builders.ts";

const mine = (fields: BranchFields = {}) => branch({ linked: "br-one", ...fields });
const proofOf = (by: string) => ({ uid: uidOf("a"), branchID: "br-one", by });
const rest = shows("Available", "Branch team/shop (br-one) is ready.");
const patches = (why: string) => ({ kind: "write", write: { op: "patch", id: "br-one", why } });

describe("a pause", () => {
  test.each([
    ["true", undefined],
    [inMs(minute), minute],
    [inMs(second), second],
    [inMs(3 * day), 24 * hour],
  ])("a Branch that is paused by %s is reconciled again in %s ms", (paused, afterMs) => {
    const object = mine({ annotations: { paused } });
    expect(planned({ object })).toEqual({ ...shows("Paused"), afterMs });
  });

  test("a Branch whose pause is over is planned as any other", () => {
    expect(planned({ object: mine({ annotations: { paused: inMs(0) } }) })).toEqual(rest);
  });
});

describe("a Branch of which no list is there", () => {
  const unobserved = (object: Branch, why: Unobserved["why"]) =>
    planBranch({ ...subject(object), kind: "unobserved", why }, memory());
  const hindered = { kind: "shown", reason: "Unauthorized", message: "The key is refused." } as const;

  test("a Branch waits for what enqueues it, and looks again where that may be missed", () => {
    expect(unobserved(mine(), { kind: "pending" })).toStrictEqual({ kind: "noop" });
    expect(unobserved(mine(), { kind: "pending", afterMs: 5000 })).toStrictEqual({ kind: "noop", afterMs: 5000 });
  });

  test.each([
    ["stays", mine(), "The key is refused."],
    ["stays, with Retain", mine({ spec: { deletionPolicy: "Retain" } }), "The key is refused."],
    [
      "is being deleted",
      mine({ deleting: true }),
      "The key is refused. Set deletionPolicy: Retain to let the branch go without the service.",
    ],
    [
      "is being deleted with Retain in force that its spec does not say",
      mine({ deleting: true, status: { deletionPolicy: "Retain" } }),
      "The key is refused. Set deletionPolicy: Retain to let the branch go without the service.",
    ],
  ])("a Branch that %s shows why, and the way out where there is one", (_, object, message) => {
    expect(unobserved(object, hindered)).toEqual({ kind: "show", reason: "Unauthorized", message });
  });

  test.each([
    [
      "with the end of its branch",
      mine({ deleting: true, spec: { deletionPolicy: "Retain" }, status: { expiresAt: inMs(hour) } }),
      `Kept branch br-one by deletionPolicy: Retain; it still ends at ${inMs(hour)}.`,
    ],
    [
      "without a branch",
      branch({ deleting: true, spec: { deletionPolicy: "Retain" } }),
      "No branch was left to delete.",
    ],
  ])("a Branch that is being deleted with Retain is let go all the same, %s", (_, object, message) => {
    expect(unobserved(object, hindered)).toEqual({ kind: "release", event: "Released", message });
  });
});

describe("a Branch that kubectl deletes with --cascade=orphan", () => {
  const orphaning = (fields: BranchFields = {}) => {
    const object = mine({ deleting: true, ...fields });
    const { finalizers = [] } = object.metadata;
    return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, "orphan"] } };
  };
  const text = expect.stringContaining("until Kubernetes has removed this object as the owner of others");
  const waits = { kind: "show", reason: "Deleting", message: text, afterMs: 600_000 };

  test.each([
    ["its branch is its own", {}, {}],
    ["it is let go", { spec: { deletionPolicy: "Retain" } }, {}],
    ["it is paused", { annotations: { paused: "true" } }, {}],
    ["its branch is missing", {}, { branches: [] }],
  ])("nothing is sent while the garbage collector takes it off its dependents, where %s", (_, fields, seen) => {
    expect(planned({ object: orphaning(fields), ...seen })).toEqual(waits);
    expect(planned({ object: mine({ deleting: true, ...fields }), ...seen })).not.toEqual(waits);
  });

  test("nothing is let go while the garbage collector is at work, also where the service cannot be seen", () => {
    const object = orphaning({ spec: { deletionPolicy: "Retain" } });
    const why = { kind: "shown", reason: "Unauthorized", message: "The key is refused." } as const;
    expect(planBranch({ ...subject(object), kind: "unobserved", why }, memory())).toEqual(waits);
  });

  test("the finalizer orphan says nothing on a Branch that stays", () => {
    const { deletionTimestamp: _, ...metadata } = orphaning().metadata;
    expect(planned({ object: { ...orphaning(), metadata } })).toEqual(rest);
  });
});

describe("of several rules that have a step, the first wins", () => {
  const rival = { others: [branch({ uid: uidOf("b"), linked: "br-one", created: "2025-01-01T00:00:00Z" })] };
  const gone = { gone: { branchID: "br-one", how: "BranchLost", expiry: "never" } };
  const asks = { annotations: { resetAt: "1" } };
  const unended = { status: { appliedExpiry: "after 1h" } };
  const ended = { branches: [listed({ expires_at: inMs(hour) })] };
  const isTaken = { compute: { step: undefined, isTaken: true } };

  test.each([
    [
      "what Retain lets go before a pause",
      mine({ deleting: true, spec: { deletionPolicy: "Retain" }, annotations: { paused: "true" } }),
      {},
      { kind: "release", event: "Released", message: expect.stringContaining("by deletionPolicy: Retain") },
    ],
    ["a pause before a deletion", mine({ deleting: true, annotations: { paused: "true" } }), {}, shows("Paused")],
    [
      "a deletion before a claim of another",
      mine({ deleting: true, status: { deletionPolicy: "Retain" } }),
      rival,
      { kind: "release" },
    ],
    [
      "a claim of another before a branch that is gone",
      mine({ status: gone, spec: { branchName: "one" } }),
      {
        branches: [],
        others: [branch({ uid: uidOf("b"), created: "2025-01-01T00:00:00Z", spec: { branchName: "one" } })],
      },
      shows("Conflict"),
    ],
    ["a claim of another before a branch that lists lack", mine(), { ...rival, branches: [] }, shows("Conflict")],
    ["a branch that is gone before a new one", mine({ status: gone }), { branches: [] }, shows("BranchLost")],
    ["a branch that lists lack before a new one", mine(), { branches: [] }, { kind: "noop" }],
    [
      "the link before a reset",
      branch(asks),
      { branches: [madeBy(branch())] },
      { kind: "note", event: { reason: "Created" } },
    ],
    ["an end before a reset", mine({ ...asks, ...unended }), ended, patches("expiry")],
    [
      "a reset before the protection",
      mine({ ...asks, spec: { protected: true } }),
      { branches: [listed({ protected: false })] },
      { write: { op: "reset" } },
    ],
    ["an end before the protection", mine({ ...unended, spec: { protected: true } }), ended, patches("expiry")],
    ["the protection before the compute", mine({ spec: { protected: true } }), isTaken, patches("protection")],
    [
      "the compute before the state",
      mine(),
      { ...isTaken, branches: [listed({ current_state: "init" })] },
      shows("Conflict"),
    ],
  ])("%s", (_, object, seen: Seen, expected) => {
    expect(planned({ object, ...seen })).toMatchObject(expected);
  });
});

describe("beside a step that waits or only shows a reason", () => {
  const lease = { expiry: { lease: "2h" } };
  const status = { resetAt: "1" };
  const asking = (spec: Record<string, unknown>, more: BranchFields = {}) =>
    mine({ annotations: { resetAt: "2" }, spec, ...more, status: { ...status, ...more.status } });
  const due = (more: Partial<ListedBranch> = {}) => ({ branches: [listed({ expires_at: inMs(minute), ...more })] });
  const create = { compute: { step: { kind: "create" } as const, isTaken: false } };
  const sent = (value: string) => ({
    pendingWrite: { uid: uidOf("a"), operation: "reset", value, since: inMs(-minute), branchID: "br-one" },
  });
  const underWay = (spec: Record<string, unknown>) => asking(spec, { status: sent("2") });
  const child = listed({ id: "br-two", name: "team/child", parent_id: "br-one" });

  test.each([
    ["is refused for a branch without a parent", asking(lease), due({ parent_id: undefined })],
    ["is refused for a protected branch", asking(lease), due({ protected: true })],
    ["waits for children", asking(lease), { branches: [...due().branches, child] }],
    ["waits for the branch to be ready", asking(lease), due({ current_state: "init" })],
    ["may be on its way", underWay(lease), due()],
    ["is to be sent", asking(lease), due()],
  ])("a lease is renewed where a reset %s", (_, object, seen: Seen) => {
    expect(planned({ object, ...seen })).toMatchObject(patches("renewal"));
  });

  test("another expiry is sent where nobody can say what became of a reset", () => {
    const object = asking({ expiry: { never: true } }, { status: { ...sent("2"), appliedExpiry: "after 72h" } });
    const { pendingWrite: record } = object.status;
    if (record === undefined) throw new Error("no record");
    const since = { reset: { record, phase: "open", openedAt: now - hour } } as const;
    expect(planned({ object, ...due() }, since)).toMatchObject(patches("expiry"));
  });

  test.each([
    ["its own protection, which the spec takes away", { protected: false }, { protected: true }, patches("protection")],
    ["the lack of a parent", {}, { parent_id: undefined }, { kind: "compute" }],
  ])("a reset that is refused for %s holds up no other step", (_, spec, shown, expected) => {
    expect(planned({ object: asking(spec), branches: [listed(shown)], ...create })).toMatchObject(expected);
  });

  test.each([
    ["may be on its way", underWay({ protected: true }), {}],
    ["waits for the branch to be ready", asking({ protected: true }), { current_state: "init" }],
  ])("neither protection nor compute changes while a reset %s", (_, object, shown) => {
    const seen = { branches: [listed({ protected: false, ...shown })], ...create };
    expect(planned({ object, ...seen })).toMatchObject(shows("Resetting"));
  });

  test("a reset that was carried out is recorded before an end is sent", () => {
    const object = underWay(lease);
    expect(planned({ object, ...due({ last_reset_at: inMs(0) }) })).toMatchObject({
      kind: "note",
      event: { reason: "Reset" },
    });
  });

  test.each([
    ["is over", mine({ spec: { expiry: { at: inMs(-hour) } }, status: { appliedExpiry: "never" } }), {}],
    ["is not shown yet", mine(), { ends: [sentEnd("never", inMs(hour), { closedAt: now })] }],
  ])("the owned Compute is made where an end %s", (_, object, remembered) => {
    expect(planned({ object, ...create }, remembered)).toMatchObject({ kind: "compute", step: { kind: "create" } });
  });

  test("the reason of the reset is shown before that of the end where there is nothing else to do", () => {
    const object = asking({ expiry: { at: inMs(-hour) } }, { status: { appliedExpiry: "never" } });
    const seen = { branches: [listed({ parent_id: undefined })] };
    expect(planned({ object, ...seen })).toEqual(shows("Rejected", "no parent"));
    expect(planned({ object, branches: [listed(), child] })).toEqual(shows("HasChildren"));
  });
});

describe("a branch that bears the note of its object", () => {
  const note = {
    kind: "note",
    news: { branchID: "br-one", proof: { uid: uidOf("a"), branchID: "br-one", by: "created" }, gone: undefined },
    event: { type: "Normal", reason: "Created", message: "Created branch team/shop (br-one)." },
  };

  test.each([
    ["names none", branch()],
    ["names it without a proof", mine({ status: { proof: undefined } })],
    ["has a proof of another object", mine({ status: { proof: { ...proofOf("created"), uid: uidOf("b") } } })],
    ["has a proof of another branch", mine({ status: { proof: { ...proofOf("created"), branchID: "br-two" } } })],
  ])("a branch with our note is recorded where the status %s", (_, object) => {
    expect(planned({ object, branches: [madeBy(branch())] })).toStrictEqual(note);
  });
});

describe("the protection", () => {
  test.each([
    ["on", true, { protected: false }],
    ["off", false, { protected: true }],
  ])("the protection of a branch is switched %s where the spec says so", (_, wanted, shown) => {
    const object = mine({ spec: { protected: wanted } });
    expect(planned({ object, branches: [listed(shown)] })).toStrictEqual({
      kind: "write",
      write: {
        op: "patch",
        id: "br-one",
        body: { protected: wanted },
        why: "protection",
        end: undefined,
      },
    });
  });

  test("the protection of an adopted branch is switched too where the spec says so", () => {
    const object = mine({ spec: { protected: true }, status: { proof: proofOf("adopted") } });
    expect(planned({ object })).toMatchObject(patches("protection"));
  });

  test.each([
    ["the spec says nothing of it", mine(), { protected: true }],
    ["it is as the spec says", mine({ spec: { protected: true } }), { protected: true }],
    ["the service does not show it", mine({ spec: { protected: true } }), { protected: undefined }],
    [
      "nothing proves the branch ours",
      mine({ spec: { protected: true }, status: { proof: undefined } }),
      { protected: false },
    ],
  ])("the protection stays as it is where %s", (_, object, shown) => {
    expect(planned({ object, branches: [listed(shown)] })).toEqual(rest);
  });
});

describe("the owned Compute", () => {
  test.each(["create", "patch", "delete"] as const)(
    "the owned Compute is brought to what the spec declares: %s",
    (kind) => {
      expect(planned({ object: mine(), compute: { step: { kind }, isTaken: false } })).toEqual({
        kind: "compute",
        step: { kind },
      });
    },
  );

  test("a Compute of somebody else that has its name is a Conflict, which names it", () => {
    expect(planned({ object: mine(), compute: { step: undefined, isTaken: true } })).toEqual(
      shows("Conflict", 'Compute "shop" exists and is not owned by this Branch'),
    );
  });

  test.each([
    ["has ended", mine({ status: { gone: { branchID: "br-one", how: "Expired", expiry: "never" } } })],
    ["lists lack", mine()],
    ["is not made yet", branch()],
  ])("an owned Compute that is declared no more goes where the branch %s, and no other step is taken", (_, object) => {
    const compute = (kind: "delete" | "patch") => ({ compute: { step: { kind }, isTaken: false }, branches: [] });
    expect(planned({ object, ...compute("delete") })).toEqual({ kind: "compute", step: { kind: "delete" } });
    expect(planned({ object, ...compute("patch") })).toEqual(planned({ object, branches: [] }));
  });

  test("the owned Compute is not made before there is a branch", () => {
    const compute = { step: { kind: "create" } as const, isTaken: false };
    expect(planned({ object: branch(), compute })).toMatchObject({ kind: "write", write: { op: "create" } });
  });
});

describe("a branch that is as declared", () => {
  const adopted = (spec: object, by = "adopted") =>
    mine({ spec: { adopt: { branchID: "br-one" }, ...spec }, status: { proof: proofOf(by) } });
  const renamed = (theirs: string, ours: string) => shows("Drifted", `from "${ours}" to "${theirs}"`);

  test.each([
    ["init", shows("Creating", "The service prepares branch br-one (init).")],
    ["resetting", shows("Updating", "The service prepares branch br-one (resetting).")],
    ["archived", rest],
    ["ready", rest],
    [undefined, rest],
  ])("a branch in state %s is shown so", (current_state, expected) => {
    expect(planned({ object: mine(), branches: [listed({ current_state })] })).toEqual(expected);
  });

  test.each<[string, Branch, string | undefined, object]>([
    ["another name than its default", mine(), "renamed", renamed("renamed", "team/shop")],
    ["another name than declared", mine({ spec: { branchName: "one" } }), "renamed", renamed("renamed", "one")],
    ["the name that is declared", mine({ spec: { branchName: "one" } }), "one", shows("Available", "Branch one (")],
    ["no name that the service shows", mine(), undefined, rest],
    ["any name, adopted by its id", adopted({}), "theirs", shows("Available", "Branch theirs (")],
    [
      "another name than declared, adopted by its id",
      adopted({ branchName: "one" }),
      "theirs",
      renamed("theirs", "one"),
    ],
    ["another name, made by this object", adopted({}, "created"), "theirs", renamed("theirs", "team/shop")],
    [
      "another name, adopted by its name",
      mine({ spec: { adopt: { byName: true } }, status: { proof: proofOf("adopted") } }),
      "theirs",
      renamed("theirs", "team/shop"),
    ],
  ])("a branch that has %s is told so", (_, object, name, expected) => {
    const branches: ListedBranch[] = [listed({ name })];
    expect(planned({ object, branches })).toEqual(expected);
  });

  test("the end of an adopted branch is its owner's", () => {
    const object = mine({ status: { proof: proofOf("adopted") } });
    expect(planned({ object, branches: [listed({ expires_at: inMs(hour) })] })).toEqual(rest);
  });
});
