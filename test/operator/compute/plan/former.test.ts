import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { signatureIn, signatureOf, uidInSignature } from "../../../../src/operator/resources/signature.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  input,
  now,
  openSince,
  proofFor,
  uidOf,
} from "../../../support/builders.ts";

const fleet = "3f2a91bc";
const never = { observedThrough: undefined };
const self = (fields: ComputeFields = {}) =>
  compute({ ...fields, spec: { adopt: { former: true }, ...fields.spec }, status: { ...never, ...fields.status } });

/** The endpoint that a former Compute of this name made, in this fleet. */
const formers = (fields: Partial<Parameters<typeof endpoint>[0]> = {}, uid = uidOf("f")) =>
  endpoint({ name: signatureOf(compute({ uid }), fleet), ...fields });
const ours = signatureOf(compute(), fleet);

describe("a signature", () => {
  test("a signature is read as it was written, and nothing else is one", () => {
    expect(uidInSignature(ours)).toBe(uidOf("a"));
    expect(signatureIn(ours)).toMatchObject({ fleet });
    expect(signatureIn(`k8s-${uidOf("a")}`)).toEqual({ uid: uidOf("a") });
    for (const name of [undefined, "", "main", "K8S-a", "k8s-", "k8s-web server", `${ours}-x`]) {
      expect(signatureIn(name)).toBeUndefined();
    }
  });
});

describe("spec.adopt.former", () => {
  const takeover = { operation: "takeover", endpointID: "ep-one" };
  const planned = (fields: Parameters<typeof input>[0]) => plan(...input({ fleet, compute: self(), ...fields }));

  test("signs what a former Compute made, and writes nothing else", () => {
    const signed = { kind: "sign", endpointID: "ep-one", name: ours, takesOver: true };
    expect(planned({ endpoints: [formers()] })).toEqual(signed);
  });

  test("links it once a list shows our signature", () => {
    const state = { write: openSince(now - 5000, takeover, "ep-one") };
    const action = planned({ endpoints: [endpoint({ name: ours })], state });
    expect(action).toEqual({ kind: "link", endpointID: "ep-one", proof: "signature", news: "former" });
  });

  test("waits for lists that lag behind the PATCH, and does not send it again meanwhile", () => {
    const state = { write: openSince(now - 5000, takeover, "ep-one") };
    expect(planned({ endpoints: [formers()], state })).toMatchObject({ kind: "wait", reason: "Updating" });
  });

  test("a takeover is sent again once an earlier PATCH, without an answer, can take effect no more", () => {
    const unanswered = { write: openSince(now - 5000, takeover) };
    expect(planned({ endpoints: [formers()], state: unanswered })).toMatchObject({ reason: "CreateUnknown" });
    const closed = { write: { ...openSince(0, takeover), phase: "closed" } } as const;
    expect(planned({ endpoints: [formers()], state: closed })).toMatchObject({ kind: "sign" });
  });

  test.each([
    ["the former endpoint fits no more", {}, { branch_id: "br-other" }],
    ["it is asked for no more", { spec: { adopt: { endpointID: "ep-two" } } }, {}],
    ["somebody named it by hand", {}, { name: "by hand" }],
  ])("creates and links nothing else while its signature may still arrive: %s", (_, fields, seen) => {
    const endpoints = [formers({ type: "read_only", ...seen }), endpoint({ id: "ep-two" })];
    const waits = { kind: "wait", reason: "CreateUnknown" };
    const state = { write: openSince(now - 5000, takeover) };
    expect(planned({ compute: self(fields), endpoints, state })).toMatchObject(waits);
    const closed = { write: { ...openSince(0, takeover), phase: "closed" } } as const;
    expect(planned({ compute: self(fields), endpoints, state: closed })).not.toMatchObject(waits);
  });

  test("waits its time after a PATCH that failed", () => {
    const write = JSON.stringify(["sign", "ep-one", ours]);
    const failedWrite = { write, reason: "Rejected", message: "no", until: now + 5000, failures: 0 } as const;
    const waits = { kind: "wait", reason: "Rejected", requeueAfterMs: 5000 };
    expect(planned({ endpoints: [formers()], state: { failedWrite } })).toMatchObject(waits);
  });

  test("a takeover is in conflict with the fleet that signed the endpoint since, and does not sign it back", () => {
    const state = { write: { ...openSince(0, takeover, "ep-one"), phase: "closed" } } as const;
    const action = planned({ endpoints: [formers({}, uidOf("g"))], state });
    expect(action).toMatchObject({ kind: "blocked", reason: "Conflict" });
  });

  test("waits until an earlier create of our own can take effect no more", () => {
    const state = { write: openSince(now - 1000) };
    expect(planned({ endpoints: [formers()], state })).toMatchObject({ kind: "wait", reason: "CreateUnknown" });
  });

  test("former is read only by a Compute that was never linked", () => {
    const before = self({ status: { gone: "ep-before" } });
    const action = planned({ compute: before, endpoints: [formers()] });
    expect(action).toMatchObject({ kind: "blocked", reason: "PrimaryExists" });
    expect(action).toMatchObject({ message: expect.stringContaining("had another endpoint before") });
  });

  test("creates where there is none, and nothing without a fleet", () => {
    expect(planned({})).toMatchObject({ kind: "create", attributes: { name: ours } });
    const refused = (text: string) => ({
      kind: "blocked",
      reason: "AdoptionRefused",
      message: expect.stringContaining(text),
    });
    expect(planned({ fleet: undefined })).toMatchObject(refused("Start it with --fleet"));
    const byID = compute({ spec: { adopt: { endpointID: "ep-two" } } });
    expect(planned({ compute: byID, fleet: undefined })).toMatchObject(refused("ep-two"));
  });

  test("leaves what another fleet signed, and says so", () => {
    const theirs = endpoint({ name: signatureOf(compute({ uid: uidOf("f") }), "00000000") });
    const action = planned({ endpoints: [theirs] });
    expect(action).toMatchObject({ reason: "PrimaryExists", message: expect.stringContaining("in another fleet") });
  });

  test("former is ignored without a fleet for a Compute that had an endpoint before", () => {
    const before = self({ status: { gone: "ep-before" } });
    expect(planned({ compute: before, fleet: undefined })).toMatchObject({ kind: "create" });
  });

  test("names what it does not take over once, before another endpoint is created", () => {
    const replica = self({ spec: { type: "read_only" } });
    const beside = formers({ type: "read_only", branch_id: "br-other" });
    const warned = planned({ compute: replica, endpoints: [beside] });
    expect(warned).toMatchObject({
      kind: "wait",
      reason: "Creating",
      warnsOf: ["ep-one"],
      requeueAfterMs: 1,
    });
    const state = { told: { formers: ["ep-one"] } };
    expect(planned({ compute: replica, endpoints: [beside], state })).toMatchObject({ kind: "create" });
  });

  test("names those of this fleet and of others in one order, and none again once it has named them", () => {
    const replica = self({ spec: { type: "read_only" } });
    const beside = (id: string) => formers({ id, type: "read_only", branch_id: "br-other" });
    const name = signatureOf(compute({ uid: uidOf("f") }), "00000000");
    const theirs = endpoint({ id: "ep-a", name, type: "read_only" });
    const warned = { kind: "wait", reason: "Creating" };
    expect(planned({ compute: replica, endpoints: [beside("ep-c"), theirs, beside("ep-b")] })).toMatchObject({
      ...warned,
      warnsOf: ["ep-a", "ep-b", "ep-c"],
    });
    expect(planned({ compute: replica, endpoints: [theirs] })).toMatchObject({
      ...warned,
      message: expect.stringContaining("in another fleet"),
    });
    const state = { told: { formers: ["ep-a", "ep-b", "ep-c"] } };
    expect(planned({ compute: replica, endpoints: [beside("ep-b")], state })).toMatchObject({ kind: "create" });
    expect(planned({ compute: replica, endpoints: [beside("ep-d")], state })).toMatchObject({ warnsOf: ["ep-d"] });
  });
});

describe("a linked endpoint", () => {
  const linked = (fields: ComputeFields = {}) => compute({ linked: "ep-one", shows: "Active", ...fields });

  test("a linked endpoint with the signature of another fleet, or of none, is signed again once the Compute is at rest", () => {
    const sign = { kind: "sign", endpointID: "ep-one", name: ours, takesOver: false };
    for (const name of [`k8s-${uidOf("a")}`, signatureOf(compute(), "00000000")]) {
      const endpoints = [endpoint({ name })];
      expect(plan(...input({ fleet, compute: linked(), endpoints }))).toEqual(sign);
      const creating = linked({ shows: "Creating" });
      expect(plan(...input({ fleet, compute: creating, endpoints }))).not.toMatchObject({ kind: "sign" });
      const reported = linked({ spec: { driftPolicy: "Report" } });
      expect(plan(...input({ fleet, compute: reported, endpoints }))).not.toMatchObject({ kind: "sign" });
      const state = { signed: { endpointID: "ep-one", renewAt: now + 1 } };
      expect(plan(...input({ fleet, compute: linked(), endpoints, state }))).not.toMatchObject({ kind: "sign" });
    }
  });

  test("a linked endpoint that comes to bear a foreign signature is a Conflict, and let go on deletion", () => {
    const taken = { status: { endpointID: "ep-one", proof: proofFor("ep-one", "signature") } };
    const endpoints = [formers()];
    const action = plan(...input({ fleet, compute: linked(taken), endpoints }));
    expect(action).toMatchObject({ kind: "blocked", reason: "Conflict", ownedByOther: true });
    const deleted = plan(...input({ fleet, compute: linked({ ...taken, deleting: true }), endpoints }));
    expect(deleted).toMatchObject({ kind: "release", event: "Released" });
  });

  test("a linked endpoint is read again before it is deleted, for another cluster may have signed it since the list", () => {
    const of = (name: string, fields: ComputeFields = {}) =>
      plan(...input({ compute: linked({ deleting: true, ...fields }), endpoints: [endpoint({ name })] }));
    const remove = { kind: "delete", endpointID: "ep-one", why: "deleted" };
    expect(of(ours)).toEqual({ ...remove, signature: ours });
    // Nobody writes over any other name.
    expect(of(`k8s-${uidOf("a")}`)).toEqual(remove);
    const foreign = signatureOf(compute({ uid: uidOf("f") }), fleet);
    expect(of(foreign, { spec: { adopt: { endpointID: "ep-one" }, deletionPolicy: "Delete" } })).toEqual(remove);
  });

  test("a linked endpoint with a foreign signature in the first list since its create is a Conflict too: the answer proved it ours", () => {
    const of = (fields: Parameters<typeof input>[0]) => plan(...input({ fleet, compute: linked(), ...fields }));
    const conflict = { kind: "blocked", reason: "Conflict", ownedByOther: true };
    const state = { write: { ...openSince(0, {}, "ep-one"), phase: "closed" } } as const;
    expect(of({ endpoints: [formers()], state })).toMatchObject(conflict);
    expect(of({ endpoints: [formers()] })).not.toMatchObject(conflict);
    const adopted = linked({ status: { endpointID: "ep-one", proof: proofFor("ep-one", "adopted") } });
    expect(of({ compute: adopted, endpoints: [formers()] })).not.toMatchObject(conflict);
    const withoutFleet = endpoint({ name: `k8s-${uidOf("f")}` });
    expect(of({ endpoints: [withoutFleet], state })).toMatchObject(conflict);
    expect(of({ endpoints: [endpoint({ name: "by hand" })], state })).not.toMatchObject(conflict);
  });

  test("a restored Compute's endpoint bears the former one's signature, and is observed and patched", () => {
    const restored = linked({ spec: { computeUnits: { min: 2, max: 2 } } });
    const endpoints = [formers({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 })];
    expect(plan(...input({ fleet, compute: restored, endpoints }))).toMatchObject({ kind: "patch" });
    // The answer to its own move proves nothing about who made the endpoint.
    const state = { write: { ...openSince(0, { operation: "move" }, "ep-one"), phase: "closed" } } as const;
    expect(plan(...input({ fleet, compute: restored, endpoints, state }))).toMatchObject({ kind: "patch" });
  });
});
