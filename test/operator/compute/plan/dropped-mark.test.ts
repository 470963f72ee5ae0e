import { expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
  createMark,
  endpoint,
  input,
  now,
  takeoverMark,
  uidOf,
} from "../../../support/builders.ts";

const pendingCreate = createMark();

test("a pending create whose finalizer a person took away gets it back at once, or a deletion would not wait", () => {
  const bare = compute({ annotations: { pendingCreate }, guarded: false });
  const action = { kind: "restorePending", mark: { uid: uidOf("a"), branchID: "br-main" } };
  expect(plan(...input({ compute: bare }))).toMatchObject(action);
  const observation = { kind: "unavailable", reason: "Unauthorized", message: "no", projectGone: false } as const;
  expect(plan(...input({ compute: bare, observation }))).toMatchObject(action);
});

test("a mark that kubectl replace dropped while no process watched is put back, as the status shows the create", () => {
  const status = { state: "Creating", observedGeneration: 1 } as const;
  const replaced = (fields: ComputeFields) =>
    plan(...input({ compute: compute({ guarded: false, spec: { type: "read_only" }, status, ...fields }) }));
  expect(replaced({})).toMatchObject({ kind: "restorePending", mark: { uid: uidOf("a"), branchID: "br-main" } });
  // After an edit, or by the branch's name, it is not known to which branch the create was sent.
  const edited = { generation: 2, status: { ...status, observedGeneration: 2 } };
  expect(replaced(edited)).toMatchObject({ kind: "restorePending", mark: { branchID: "?" } });
  const named = { status: { ...status, resolvedBranch: { name: "main", id: "br-main" } } };
  const byName = { ...named, spec: { type: "read_only", branchID: undefined, branchName: "main" } } as const;
  expect(replaced(byName)).toMatchObject({ kind: "restorePending", mark: { branchID: "?" } });
  expect(replaced({ guarded: true })).toMatchObject({ kind: "create" });
  expect(replaced({ status: { ...status, state: "NotCreated" } })).toMatchObject({ kind: "create" });
  const linked = { endpointID: "ep-gone" };
  expect(replaced({ annotations: linked })).not.toMatchObject({ kind: "restorePending" });
  expect(replaced({ status: { ...status, ...linked } })).not.toMatchObject({ kind: "restorePending" });
});

test("so is one of a takeover, as that of a create, but by the process that signed", () => {
  const self = compute({ guarded: false, spec: { type: "read_only" }, status: { state: "Updating" } });
  const action = { kind: "restorePending", mark: { uid: uidOf("a") } };
  expect(plan(...input({ compute: self }))).toMatchObject(action);
  const signed = { endpointID: "ep-former", over: uidOf("b"), renewAt: now, before: 0 };
  expect(plan(...input({ compute: self, state: { signed } }))).not.toMatchObject(action);
  const marked = { guarded: false, annotations: { pendingTakeover: takeoverMark() }, status: self.status };
  expect(plan(...input({ compute: compute(marked) }))).not.toMatchObject(action);
});

test("so is one of a create in place of a lost endpoint, with the link that the status names", () => {
  const status = { state: "Lost", endpointID: "ep-gone", observedThrough: "here" } as const;
  const replaced = (fields: ComputeFields) =>
    plan(...input({ compute: compute({ guarded: false, shows: "CreateUnknown", status, ...fields }) }));
  const mark = { uid: uidOf("a"), branchID: "br-main", through: "here", replaces: "ep-gone" };
  expect(replaced({})).toMatchObject({ kind: "link", endpointID: "ep-gone", news: "none", keepsMark: mark });
  // No create was sent yet, as where it waits for its project, or the endpoint is not lost.
  const others = [
    { shows: "EndpointLost" },
    { shows: "Creating" },
    { status: { ...status, state: "Active" } },
  ] as const;
  for (const fields of others) {
    expect(replaced(fields)).toMatchObject({ kind: "link", endpointID: "ep-gone" });
    expect(replaced(fields)).not.toHaveProperty("keepsMark");
  }
  // A person who takes the mark away means it.
  expect(replaced({ guarded: true })).not.toHaveProperty("keepsMark");
  expect(replaced({ annotations: { endpointID: "ep-gone" } })).not.toHaveProperty("keepsMark");
});

const markedFor = (branchID: string, fields: ComputeFields = {}) =>
  compute({ annotations: { pendingCreate: createMark({ branchID }) }, shows: "CreateUnknown", ...fields });

test("where no names are shown, a create whose branch is not known takes no primary for its own", () => {
  const seen = { endpoints: [endpoint()], list: { markers: "hidden" } } as const;
  expect(plan(...input({ compute: markedFor("br-main"), ...seen }))).toMatchObject({ kind: "link", proof: "none" });
  expect(plan(...input({ compute: markedFor("?"), ...seen }))).toMatchObject({ kind: "wait", reason: "CreateUnknown" });
});

test.each(["read_write", "read_only"] as const)(
  "where no names are shown and a branch is not known, an endpoint that is nobody's may be anywhere: %s",
  (type) => {
    const elsewhere = endpoint({ id: "ep-elsewhere", branch_id: "br-before", type });
    const seen = {
      endpoints: [elsewhere],
      list: { markers: "hidden", startedAt: now - 100 },
      state: { pendingCreate: { since: "", seenAt: now - 70_000, firstListWithout: now - 500 } },
    } as const;
    const waits = plan(...input({ compute: markedFor("?", { spec: { type } }), ...seen }));
    expect(waits).toMatchObject({ kind: "wait", reason: "CreateUnknown" });
    expect(waits).toHaveProperty("message", expect.stringContaining("ep-elsewhere"));
    const adopting = { spec: { type, adopt: { endpointID: "ep-elsewhere" } } };
    expect(plan(...input({ compute: markedFor("?", adopting), ...seen }))).toMatchObject({
      kind: "link",
      endpointID: "ep-elsewhere",
    });
  },
);
