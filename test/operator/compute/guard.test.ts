import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { guard, insteadOf } from "../../../src/operator/compute/guard.ts";
import type { WriteAction } from "../../../src/operator/compute/plan/action.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { fleetOf, keyOf, signatureOf, signatureOfUID } from "../../../src/operator/resources/signature.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  type InputFields,
  input,
  madeBy,
  openSince,
  proofFor,
  recordOf,
  uidOf,
} from "../../support/builders.ts";

const fleet = fleetOf("production");
const self = compute({ linked: "ep-one", status: { endpointID: "ep-one", proof: proofFor("ep-one", "signature") } });
const fresh = compute();
const younger = compute({ uid: uidOf("b"), name: "other", created: "2027-01-01T00:00:00Z" });
const stranger = `k8s-${uidOf("z")}`;

const patch: WriteAction = {
  kind: "patch",
  endpointID: "ep-one",
  attributes: { disabled: true },
  fields: ["disabled"],
  progress: "Updating",
  corrects: [],
};
const move: WriteAction = { ...patch, attributes: { branch_id: "br-next" }, progress: "Moving" };
const restart: WriteAction = { kind: "restart", endpointID: "ep-one", value: "now", startedAt: undefined };
const remove: WriteAction = { kind: "delete", endpointID: "ep-one", why: "deleted" };
const surplus: WriteAction = { kind: "delete", endpointID: "ep-two", why: "duplicate" };

function create(of: Compute, more: object = {}): WriteAction {
  const attributes = { branch_id: "br-main", type: of.spec.type, name: signatureOf(of, undefined), ...more };
  return { kind: "create", attributes, newest: undefined, lost: false };
}

function sign(of: Compute, takesOver: boolean): WriteAction {
  return { kind: "sign", endpointID: "ep-one", name: signatureOf(of, fleet), takesOver };
}

/** What the guard sees: a list whose links a rule got wrong, so that nothing can be taken from them. */
function ruleOf(action: WriteAction, of: Compute, fields: InputFields = {}): string | undefined {
  const [o, s] = input({ compute: of, ...fields });
  const links = { link: undefined, missing: "ep-none", duplicates: [], replacements: [] };
  return guard(action, o.kind === "observed" ? { ...o, links } : o, s)?.rule;
}

function going(fields: ComputeFields = {}): Compute {
  return compute({ linked: "ep-one", deleting: true, ...fields });
}

const adopting = { adopt: { endpointID: "ep-one" } };
const former = (of: Compute): Endpoint =>
  endpoint({ name: `k8s-${fleet}-${keyOf(of)}-${uidOf("z").replaceAll("-", "")}` });
const takingOver = compute({ spec: { adopt: { former: true } } });

describe("the last guard lets pass what the rules plan with proof and claim", () => {
  test.each<[string, WriteAction, Compute, InputFields?]>([
    ["a create on a free branch", create(fresh), fresh],
    ["a create before a younger Compute", create(fresh), fresh, { others: [younger] }],
    [
      "a replica's create beside a primary",
      create(compute({ spec: { type: "read_only" } })),
      compute({ spec: { type: "read_only" } }),
      { endpoints: [endpoint()], others: [younger] },
    ],
    [
      "a create in place of what is proved gone",
      create(self),
      compute({ linked: "ep-one", status: { endpointID: "ep-one", gone: "ep-one" } }),
    ],
    [
      "a create after one whose record is closed",
      create(fresh),
      compute({ status: { pendingWrite: recordOf() } }),
      { state: { write: { ...openSince(0), phase: "closed" } } },
    ],
    ["a change of what bears our signature", patch, self, { endpoints: [madeBy(self)] }],
    ["a change of what shows no name, and the status proves", patch, self, { endpoints: [endpoint()] }],
    ["a change of what only an annotation links", patch, compute({ linked: "ep-one" }), { endpoints: [endpoint()] }],
    [
      "a change by a restored Compute of what its former uid signed",
      patch,
      compute({ linked: "ep-one" }),
      { endpoints: [endpoint({ name: stranger })] },
    ],
    [
      "a change of what was adopted from one whose signature it bears, and who is gone",
      patch,
      compute({
        linked: "ep-one",
        spec: adopting,
        status: { endpointID: "ep-one", proof: proofFor("ep-one", "adopted") },
      }),
      { endpoints: [endpoint({ name: stranger })] },
    ],
    ["a move onto a free branch", move, self, { endpoints: [madeBy(self)] }],
    [
      "a move onto a branch that a younger Compute claims",
      move,
      self,
      {
        endpoints: [madeBy(self)],
        others: [compute({ uid: uidOf("b"), created: "2027-01-01T00:00:00Z", spec: { branchID: "br-next" } })],
      },
    ],
    [
      "a move back beside an own duplicate",
      move,
      self,
      { endpoints: [madeBy(self), madeBy(self, { id: "ep-two", branch_id: "br-next" })] },
    ],
    [
      "a restart of what is adopted",
      restart,
      compute({ linked: "ep-one", spec: adopting }),
      { endpoints: [endpoint()] },
    ],
    ["a restart of what is ours", restart, self, { endpoints: [madeBy(self)] }],
    [
      "a signature over that of another fleet",
      sign(self, false),
      self,
      { endpoints: [endpoint({ name: signatureOf(self, fleetOf("before")) })], fleet },
    ],
    ["a takeover of a former endpoint", sign(takingOver, true), takingOver, { endpoints: [former(takingOver)], fleet }],
    ["a deletion of what is ours", remove, going(), { endpoints: [madeBy(self)] }],
    [
      "a deletion of what shows no name, and a create made",
      remove,
      going({ status: { endpointID: "ep-one", proof: proofFor("ep-one") } }),
      { endpoints: [endpoint()] },
    ],
    [
      "a deletion of what was adopted, where the spec says so",
      remove,
      going({ spec: { ...adopting, deletionPolicy: "Delete" } }),
      { endpoints: [endpoint()] },
    ],
    [
      "a deletion of a further one of ours",
      surplus,
      going(),
      { endpoints: [madeBy(self), madeBy(self, { id: "ep-two" })] },
    ],
    ["a deletion of a surplus", surplus, self, { endpoints: [madeBy(self), madeBy(self, { id: "ep-two" })] }],
  ])("passes %s", (_, action, of, fields) => {
    expect(ruleOf(action, of, fields)).toBeUndefined();
  });

  test("asks nothing of an action that sends no write", () => {
    const [o, s] = input({ compute: self });
    expect(guard({ kind: "link", endpointID: "ep-theirs", proof: "none", news: "none" }, o, s)).toBeUndefined();
  });
});

describe("the last guard stops", () => {
  test.each<[string, string, WriteAction, Compute, InputFields?]>([
    ["a write without a list", "endpoint-patch-proof", patch, self, { observation: { kind: "pending" } }],
    ["a write to what no list shows", "endpoint-patch-proof", patch, self],
    ["a create with the signature of another", "endpoint-create-proof", create(fresh, { name: stranger }), fresh],
    ["a create on another branch", "endpoint-create-proof", create(fresh, { branch_id: "br-else" }), fresh],
    ["a create of another type", "endpoint-create-proof", create(fresh, { type: "read_only" }), fresh],
    ["a create for what is being deleted", "endpoint-create-proof", create(fresh), compute({ deleting: true })],
    [
      "a create while the record of the status is not remembered",
      "endpoint-create-record",
      create(fresh),
      compute({ status: { pendingWrite: recordOf() } }),
    ],
    [
      "a create while a takeover is open",
      "endpoint-create-record",
      create(fresh),
      fresh,
      { state: { write: openSince(0, { operation: "takeover" }) } },
    ],
    [
      "a change of what came to bear another signature before a status said that it was ours",
      "endpoint-patch-proof",
      patch,
      compute({ linked: "ep-one" }),
      {
        endpoints: [endpoint({ name: stranger })],
        state: { write: { ...openSince(0, {}, "ep-one"), phase: "closed" } },
      },
    ],
    [
      "a signature of another Compute",
      "endpoint-sign-proof",
      { kind: "sign", endpointID: "ep-one", name: stranger, takesOver: false },
      self,
      { endpoints: [madeBy(self)], fleet },
    ],
    [
      "a takeover without a fleet",
      "endpoint-takeover-proof",
      sign(takingOver, true),
      takingOver,
      { endpoints: [former(takingOver)] },
    ],
    [
      "a deletion by the proof of another object",
      "endpoint-delete-proof",
      remove,
      going({ status: { endpointID: "ep-one", proof: proofFor("ep-one", "created", uidOf("b")) } }),
      { endpoints: [endpoint()] },
    ],
    [
      "a deletion with Retain",
      "endpoint-delete-policy",
      remove,
      going({ spec: { deletionPolicy: "Retain" } }),
      { endpoints: [madeBy(self)] },
    ],
    [
      "a deletion of what a live Compute signed",
      "endpoint-delete-claim",
      remove,
      going({ spec: { ...adopting, deletionPolicy: "Delete" } }),
      { endpoints: [endpoint({ name: signatureOfUID(uidOf("b")) })], others: [younger] },
    ],
    [
      "a deletion of a surplus without a name, which the status alone proves",
      "endpoint-surplus-proof",
      surplus,
      compute({ linked: "ep-one", status: { endpointID: "ep-one", proof: proofFor("ep-two") } }),
      { endpoints: [madeBy(self), endpoint({ id: "ep-two" })] },
    ],
  ])("%s: %s", (_, rule, action, of, fields) => {
    expect(ruleOf(action, of, fields)).toBe(rule);
  });
});

describe("in place of a write that the last guard stopped", () => {
  const stop = { rule: "endpoint-patch-proof", message: "Stopped." };

  test("the Compute is in Conflict, and is planned again hourly", () => {
    const [o, s] = input({ compute: self });
    expect(insteadOf(patch, stop, o, s)).toEqual({
      kind: "blocked",
      reason: "Conflict",
      message: "Stopped.",
      requeueAfterMs: 3_600_000,
    });
  });

  test("a deletion waits, so that the deletion of the CRD lets it go", () => {
    const [o, s] = input({ compute: going() });
    expect(insteadOf(remove, stop, o, s)).toMatchObject({ kind: "wait", reason: "Conflict" });
  });

  test("a deletion with Retain lets the Compute go", () => {
    const [o, s] = input({ compute: going({ spec: { deletionPolicy: "Retain" } }) });
    expect(insteadOf(remove, stop, o, s)).toMatchObject({ kind: "release", event: "Released" });
  });
});
