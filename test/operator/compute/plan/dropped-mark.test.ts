import { expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { type ComputeFields, compute, createMark, endpoint, input, uidOf } from "../../../support/builders.ts";

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
  // With an edit it is not known for which branch the create was sent.
  const edited = { status: { ...status, observedGeneration: 0 } };
  expect(replaced(edited)).toMatchObject({ kind: "restorePending", mark: { branchID: "?" } });
  expect(replaced({ guarded: true })).toMatchObject({ kind: "create" });
  expect(replaced({ status: { ...status, state: "NotCreated" } })).toMatchObject({ kind: "create" });
  const linked = { endpointID: "ep-gone" };
  expect(replaced({ annotations: linked })).not.toMatchObject({ kind: "restorePending" });
  expect(replaced({ status: { ...status, ...linked } })).not.toMatchObject({ kind: "restorePending" });
});

test("where no names are shown, a create whose branch is not known takes no primary for its own", () => {
  const marked = (branchID: string) =>
    compute({ annotations: { pendingCreate: createMark({ branchID }) }, shows: "CreateUnknown" });
  const seen = { endpoints: [endpoint()], list: { markers: "hidden" } } as const;
  expect(plan(...input({ compute: marked("br-main"), ...seen }))).toMatchObject({ kind: "link", proof: "none" });
  expect(plan(...input({ compute: marked("?"), ...seen }))).toMatchObject({ kind: "wait", reason: "CreateUnknown" });
});
