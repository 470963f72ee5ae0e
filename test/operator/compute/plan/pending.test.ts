import { describe, expect, test } from "vitest";
import type { RememberedWrite } from "../../../../src/operator/compute/memory.ts";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  type InputFields,
  input,
  madeBy,
  now,
  openSince,
  proofFor,
  recordOf,
  uidOf,
} from "../../../support/builders.ts";

// Lists begin 100 ms before `now`; --create-settle is 60 s, and a list lags at most 10 s.
const settledAt = now - 100 - 70_000;
const recently = now - 5000;

function planned(write: RememberedWrite, fields: ComputeFields = {}, rest: InputFields = {}): Action {
  return plan(
    ...input({ compute: compute({ shows: "Creating", ...fields }), ...rest, state: { write, ...rest.state } }),
  );
}

const waits = (text = "", reason = "CreateUnknown") => ({
  kind: "wait",
  reason,
  message: expect.stringContaining(text),
});

describe("while a create is open", () => {
  test.each(["read_write", "read_only"])("an open create lets no other endpoint of type %s be created", (type) => {
    expect(planned(openSince(recently), { spec: { type } })).toEqual({
      ...waits(
        `The lists are searched for k8s-${uidOf("a")} for 70 s (--create-settle and 10 s) before another create is sent.`,
      ),
      requeueAfterMs: 70_000 - 5000,
    });
  });

  test.each<[string, ComputeFields]>([
    ["adopted by its id", { spec: { adopt: { endpointID: "ep-one" } } }],
    ["adopted as the branch's primary", { spec: { adopt: { branchPrimary: true } } }],
  ])("an open create lets no endpoint be %s", (_, fields) => {
    expect(planned(openSince(recently), fields, { endpoints: [endpoint({ name: "by hand" })] })).toMatchObject(waits());
  });

  test("an open create lets no other one be created in place of an endpoint that is proved gone", () => {
    const missing = { id: "ep-one", since: 0, proved: true };
    expect(planned(openSince(recently), { linked: "ep-one" }, { state: { missing } })).toMatchObject(waits());
  });

  test("a typed link to somebody's endpoint changes nothing", () => {
    const endpoints = [endpoint({ name: "by hand" })];
    expect(planned(openSince(recently), { linked: "ep-one" }, { endpoints })).toMatchObject(waits());
  });

  test("our finalizer is put back, which kubectl replace dropped, also without a list", () => {
    const restores = { kind: "restoreFinalizer" };
    const write = openSince(recently);
    expect(planned(write, { guarded: false })).toEqual(restores);
    expect(planned(write, { guarded: false, annotations: { paused: "true" } })).toEqual(restores);
    expect(planned(write, { guarded: false }, { observation: { kind: "pending" } })).toEqual(restores);
    const away = { kind: "unavailable", reason: "Unauthorized", message: "", projectGone: false } as const;
    expect(planned(write, { guarded: false }, { observation: away })).toEqual(restores);
  });

  test("a finalizer is never put on an object that is being deleted", () => {
    expect(planned(openSince(recently), { guarded: false, deleting: true })).toEqual({ kind: "noop" });
  });

  test("nothing is sent while the Compute is paused either", () => {
    expect(planned(openSince(recently), { annotations: { paused: "true" } })).toMatchObject(waits("", "Paused"));
  });
});

describe("what an open create made", () => {
  const self = compute({ shows: "CreateUnknown" });

  test("an endpoint that an open create made is linked as soon as it is listed", () => {
    expect(planned(openSince(now - 1), {}, { endpoints: [madeBy(self)] })).toEqual({
      kind: "link",
      endpointID: "ep-one",
      proof: "signature",
      news: "created",
    });
  });

  test("the oldest of several that an open create made is linked, and the others stay until the record is closed", () => {
    const endpoints = [
      madeBy(self, { id: "ep-late", created_at: "2026-01-02T00:00:00Z" }),
      madeBy(self, { id: "ep-early", created_at: "2026-01-01T00:00:00Z" }),
    ];
    expect(planned(openSince(recently), {}, { endpoints })).toMatchObject({ kind: "link", endpointID: "ep-early" });
    const linked: ComputeFields = { linked: "ep-early" };
    expect(planned(openSince(recently), linked, { endpoints })).toMatchObject({ kind: "noop" });
    const closed = { ...openSince(recently), phase: "closed" } as const;
    expect(planned(closed, linked, { endpoints })).toMatchObject({ kind: "delete", endpointID: "ep-late" });
  });

  test("an endpoint that an open create made is linked in place of a typed link", () => {
    const annotations = { endpointID: "ep-typed" };
    const endpoints = [endpoint({ id: "ep-typed", name: "by hand" }), madeBy(self)];
    expect(planned(openSince(recently), { annotations }, { endpoints })).toMatchObject({
      kind: "link",
      endpointID: "ep-one",
    });
  });

  test.each<[string, ComputeFields]>([
    ["another size", { spec: { disabled: true } }],
    ["another branch", { spec: { branchID: "br-next" } }],
  ])(
    "an endpoint that an open create made is not changed to %s before the record is closed: the list may lag",
    (_, fields) => {
      const endpoints = [madeBy(self, { branch_id: "br-main", disabled: false })];
      const linked = { linked: "ep-one", ...fields };
      expect(planned(openSince(recently), linked, { endpoints })).toEqual({ kind: "noop" });
      const closed = { ...openSince(recently), phase: "closed" } as const;
      expect(planned(closed, linked, { endpoints })).toMatchObject({ kind: "patch" });
    },
  );

  test("an endpoint is linked from the answer alone where a list lags, and its proof noted where no name is shown", () => {
    const write = openSince(recently, {}, "ep-one");
    const seen = (fields: ComputeFields, endpoints: InputFields["endpoints"] = []) =>
      planned(write, fields, { endpoints });
    const link = { kind: "link", endpointID: "ep-one", proof: "created", news: "created" };
    expect(seen({})).toEqual(link);
    expect(seen({ linked: "ep-one" }, [endpoint()])).toEqual(link);
    const noted: ComputeFields = { linked: "ep-one", status: { proof: proofFor("ep-one") } };
    expect(seen(noted, [endpoint()]).kind).not.toBe("link");
    expect(seen({}, [madeBy(self)])).toMatchObject({ ...link, proof: "signature" });
  });
});

describe("a create that lists of another service cannot settle", () => {
  const list = { baseURL: "https://other/api/v2", fingerprint: "other" };

  test("says which two they are and what to do, and creates nothing", () => {
    const action = planned(openSince(settledAt), {}, { list });
    expect(action).toMatchObject(waits("sent to https://service/api/v2"));
    expect(action).toMatchObject(waits("the connection leads to https://other/api/v2 now"));
    expect(action).toMatchObject(waits("confirmLoss"));
  });

  test("links what bears our signature there", () => {
    const endpoints = [madeBy(compute())];
    expect(planned(openSince(settledAt), {}, { list, endpoints })).toMatchObject({ kind: "link" });
  });
});

describe("a create that only a name or a person can settle", () => {
  const endpoints = [endpoint({ id: "ep-b" }), endpoint({ id: "ep-a" })];

  test("names the candidates and the ways out, and creates nothing", () => {
    const action = planned(openSince(settledAt), {}, { endpoints });
    expect(action).toMatchObject(waits("(ep-a, ep-b)."));
    expect(action).not.toHaveProperty("requeueAfterMs");
    expect(planned(openSince(settledAt), { deleting: true }, { endpoints })).toMatchObject(
      waits("deletionPolicy to Retain"),
    );
  });

  test.each<[string, ComputeFields]>([
    ["its id", { spec: { adopt: { endpointID: "ep-b" } } }],
    ["its branch's primary", { spec: { adopt: { branchPrimary: true } } }],
  ])(
    "a create is resolved by a person who adopts a candidate by %s, not before nothing else can arrive",
    (_, fields) => {
      const link = { kind: "link", endpointID: "ep-b", proof: "adopted", news: "adopted" };
      expect(planned(openSince(settledAt), fields, { endpoints })).toEqual(link);
      expect(planned(openSince(settledAt), { ...fields, deleting: true }, { endpoints })).toEqual(link);
      expect(planned(openSince(recently), fields, { endpoints })).toMatchObject(waits());
    },
  );

  test("a create is not resolved by a person who adopts another endpoint: the create may have made one besides", () => {
    const fields = { spec: { adopt: { endpointID: "ep-c" } } };
    const other = endpoint({ id: "ep-c", name: "by hand" });
    expect(planned(openSince(settledAt), fields, { endpoints: [...endpoints, other] })).toMatchObject(waits());
  });

  test("a create is not resolved by the branch's primary while it may have made one on its earlier branch", () => {
    const elsewhere = [endpoint({ id: "ep-a", branch_id: "br-next" }), endpoint({ id: "ep-b" })];
    const fields = { spec: { branchID: "br-next", adopt: { branchPrimary: true } } };
    const action = planned(openSince(settledAt), fields, { endpoints: elsewhere });
    expect(action).toMatchObject(waits("(ep-a, ep-b)."));
  });

  test("a create is not resolved by guessing, though only one endpoint is there", () => {
    expect(planned(openSince(settledAt), {}, { endpoints: [endpoint()] })).toMatchObject(waits("(ep-one)."));
  });
});

describe("while a takeover is open", () => {
  const takeover = { operation: "takeover", endpointID: "ep-one" };

  test("the condition says that the answered one is being linked", () => {
    expect(planned(openSince(recently, takeover, "ep-one"))).toMatchObject(
      waits("is linked once a list shows", "Updating"),
    );
  });

  test("a takeover without an answer is searched for", () => {
    expect(planned(openSince(recently, takeover))).toMatchObject(waits());
  });

  test("what bears our signature is linked as taken over", () => {
    const seen = { endpoints: [madeBy(compute())] };
    expect(planned(openSince(recently, takeover), {}, seen)).toMatchObject({ kind: "link", news: "former" });
  });
});

describe("while a move is open", () => {
  const move = (fields: object = {}) =>
    openSince(recently, { operation: "move", endpointID: "ep-one", branchID: "br-main", to: "br-next", ...fields });
  const self = { linked: "ep-one" };
  const seen = (branch_id: string) => ({ endpoints: [madeBy(compute(), { branch_id, disabled: false })] });

  test("other changes wait, and a move back too", () => {
    const waiting = { ...waits("an earlier move", "Moving"), requeueAfterMs: 70_000 - 5000 };
    expect(planned(move(), { ...self, spec: { disabled: true } }, seen("br-main"))).toEqual(waiting);
    expect(planned(move(), { ...self, spec: { branchID: "br-main" } }, seen("br-next"))).toEqual(waiting);
  });

  test("a restart waits", () => {
    const annotations = { endpointID: "ep-one", restartedAt: "two" };
    expect(planned(move(), { ...self, annotations }, seen("br-main"))).toMatchObject(waits("", "Moving"));
  });

  test("an endpoint that is as declared is at rest", () => {
    expect(planned(move(), { ...self, spec: { branchID: "br-next" } }, seen("br-next"))).toMatchObject({
      kind: "settled",
    });
  });

  test("our own late move is undone once the record is closed, because the spec changed", () => {
    const closed = { ...move(), phase: "closed" } as const;
    expect(planned(closed, self, seen("br-next"))).toMatchObject({ kind: "patch", from: "br-next" });
  });
});

test.each<[string, RememberedWrite]>([
  ["that is closed", { ...openSince(recently), phase: "closed" }],
  ["of a request that was refused", { ...openSince(recently), phase: "unsent" }],
  ["of a restart", openSince(recently, { operation: "restart", endpointID: "ep-old", value: "two" })],
])("a record %s blocks no create", (_, write) => {
  expect(planned(write)).toMatchObject({ kind: "create" });
});

describe("a deletion while a create is open", () => {
  const going = (fields: ComputeFields = {}) => ({ deleting: true, ...fields });

  test.each(["read_write", "read_only"])("a deletion waits for the outcome, of a %s alike", (type) => {
    expect(planned(openSince(recently), going({ spec: { type } }))).toEqual({
      ...waits("before the Compute is removed"),
      requeueAfterMs: 70_000 - 5000,
    });
  });

  test("deletes what it made", () => {
    expect(planned(openSince(recently), going(), { endpoints: [madeBy(compute())] })).toMatchObject({
      kind: "delete",
      endpointID: "ep-one",
    });
  });

  test("waits also once the linked endpoint is deleted and proved gone: another may still arrive", () => {
    const deletes = new Map([["ep-one", { at: now - 2000, before: 0, accepted: true, proved: true, shown: 0 }]]);
    const linked = going({ linked: "ep-one" });
    expect(planned(openSince(recently), linked, { state: { deletes } })).toMatchObject(waits());
    const closed = { ...openSince(recently), phase: "closed" } as const;
    expect(planned(closed, linked, { state: { deletes } })).toMatchObject({ kind: "release", event: "Deleted" });
  });

  test("lets a typed link go only when nothing may arrive any more", () => {
    const seen = { endpoints: [endpoint({ name: "by hand" })] };
    expect(planned(openSince(recently), going({ linked: "ep-one" }), seen)).toMatchObject(waits());
    const closed = { ...openSince(recently), phase: "closed" } as const;
    expect(planned(closed, going({ linked: "ep-one" }), seen)).toMatchObject({ kind: "release" });
  });

  test("a deletion with deletionPolicy Retain ends at once, with a Warning that names branch and signature", () => {
    const retained = going({ spec: { deletionPolicy: "Retain" } });
    expect(planned(openSince(recently, { branchID: "br-old" }), retained)).toEqual({
      kind: "release",
      event: "Released",
      message: expect.stringMatching(new RegExp(`k8s-${uidOf("a")} on branch br-old`)),
      warns: true,
    });
  });

  test.each<[string, RememberedWrite | undefined]>([
    ["nothing is open", undefined],
    ["a move is", openSince(recently, { operation: "move", to: "br-next" })],
    ["what was made is known", openSince(recently, {}, "ep-one")],
  ])("a deletion with deletionPolicy Retain warns of nothing where %s", (_, write) => {
    const self = compute(going({ linked: "ep-one", spec: { deletionPolicy: "Retain" } }));
    const action = plan(...input({ compute: self, state: { write } }));
    expect(action).toEqual({ kind: "release", event: "Released", message: expect.stringContaining("ep-one is kept") });
  });

  test("a project that is gone for another service is not the last word on a record", () => {
    const gone = { kind: "unavailable", reason: "ProjectNotFound", message: "", projectGone: true } as const;
    const at = (baseURL: string) => ({ observation: { ...gone, fingerprint: "here", baseURL } });
    expect(planned(openSince(recently), going(), at("https://service/api/v2"))).toMatchObject({ kind: "release" });
    const elsewhere = at("https://other/api/v2");
    const other = { observation: { ...elsewhere.observation, fingerprint: "other" } };
    expect(planned(openSince(recently), going(), other)).toMatchObject(waits("confirmLoss", "MassLoss"));
  });
});

test("what a create is planned with is the newest of the list, for the record", () => {
  const endpoints = [
    endpoint({ id: "ep-1", type: "read_only", created_at: "2026-01-01T00:00:00Z" }),
    endpoint({ id: "ep-2", type: "read_only", created_at: "2026-01-02T00:00:00Z" }),
  ];
  expect(plan(...input({ endpoints }))).toMatchObject({ kind: "create", newest: "2026-01-02T00:00:00Z" });
  expect(plan(...input({}))).toMatchObject({ kind: "create", newest: undefined });
});

test("an adopting Compute leaves a primary without a name to the open create of another Compute", () => {
  const self = compute({ spec: { adopt: { branchPrimary: true } } });
  const other = compute({
    uid: uidOf("b"),
    name: "other",
    created: "2027-01-01T00:00:00Z",
    status: { pendingWrite: recordOf({ uid: uidOf("b") }) },
  });
  const seen = (fields: object) => plan(...input({ compute: self, endpoints: [endpoint(fields)], others: [other] }));
  expect(seen({})).toMatchObject(waits("may be the one that Compute team/other just created", "Creating"));
  expect(seen({ name: "by hand" })).toMatchObject({ kind: "link", proof: "adopted" });
});
