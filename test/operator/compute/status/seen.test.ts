import { describe, expect, test } from "vitest";
import { type Effect, shown, unchanged } from "../../../../src/operator/compute/outcome.ts";
import { nextStatus } from "../../../../src/operator/compute/status/status.ts";
import type { Reason } from "../../../../src/operator/compute/words/reasons.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { type ComputeFields, compute, operation, proofFor, recordOf } from "../../../support/builders.ts";
import { active, after, full, seen, statusAfter } from "./updating.ts";

const blind = { endpoint: undefined, absent: false, fingerprint: undefined };
const gone = { endpoint: undefined };

describe("what was last seen of an endpoint", () => {
  const pending = full({ current_state: "idle", pending_state: "active" });

  test("includes the state that is under way, until lists lack the endpoint", () => {
    const settled = after(active(), { endpoint: pending });
    expect(settled.status).toMatchObject({ currentState: "idle", pendingState: "active" });
    const lacking = statusAfter(shown(settled, "EndpointLost", ""), gone);
    expect([lacking.currentState, lacking.pendingState]).toEqual([undefined, undefined]);
    expect(lacking).toMatchObject({ endpointID: "ep-one", host: settled.status.host });
    const hidden = statusAfter(shown(settled, "Unauthorized", ""), blind);
    expect(hidden).toMatchObject({ currentState: "idle", pendingState: "active" });
  });

  test("the last sight of an endpoint is kept by a reconcile that sees nothing and says nothing", () => {
    const wiped = compute({ linked: "ep-one" });
    expect(nextStatus(unchanged(wiped), seen(blind, wiped))).toBeUndefined();
  });

  test("the last sight of an endpoint is corrected by a reconcile that says nothing, and sees that lists lack the endpoint", () => {
    const settled = after(active(), { endpoint: pending });
    expect(statusAfter(unchanged(settled), gone)).not.toHaveProperty("currentState");
  });

  test("lends its size to a Compute that is linked and was never seen", () => {
    const spec = { computeUnits: { min: 1, max: 4 } };
    const linked = compute({ linked: "ep-one", spec });
    expect(statusAfter(shown(linked, "Unauthorized", ""), blind).size).toBe("1–4 CU");
  });

  test("the last sight of an endpoint is dropped wholly where the endpoint turns out to be another's", () => {
    const status = { disabledByUs: true };
    const disabled = compute({ linked: "ep-one", status: { endpointID: "ep-one", ...status } });
    const whole = after(active(disabled), { endpoint: full({ disabled: true }), operations: [operation()] });
    for (const field of ["poolerHost", "disabledByUs", "operations", "lastActive"]) {
      expect(whole.status).toHaveProperty(field);
    }
    const left = statusAfter(shown(whole, "Conflict", "", { effect: { kind: "ownedByOther" } }), gone);
    const kept = [
      "access",
      "appliedGeneration",
      "branch",
      "conditions",
      "deletionPolicy",
      "observedGeneration",
      "observedThrough",
      "proof",
      "state",
    ];
    expect(Object.keys(left).toSorted()).toEqual(kept);
    expect(left).toMatchObject({ state: "NotCreated", branch: disabled.spec.branchID });
  });
});

describe("the state", () => {
  const lost = (fields: ComputeFields = {}) => compute({ ...fields, status: { state: "Lost", ...fields.status } });
  const stateOf = (of: Compute, reason: Reason, effect: Effect = { kind: "none" }, fields: object = gone) =>
    statusAfter(shown(of, reason, "", { effect }), fields).state;
  const sent = (what: string) => ({ sent: what });

  test.each([blind, gone])(
    "the state is Creating and Updating while what was sent may have made or signed an endpoint",
    (view) => {
      const of = compute();
      expect(stateOf(of, "CreateUnknown", { kind: "none" }, { ...view, ...sent("create") })).toBe("Creating");
      expect(stateOf(of, "CreateUnknown", { kind: "none" }, { ...view, ...sent("takeover") })).toBe("Updating");
      const owned = { kind: "ownedByOther" } as const;
      expect(stateOf(of, "Conflict", owned, { ...view, ...sent("create") })).toBe("NotCreated");
    },
  );

  test("stays Lost while the service cannot be asked, linked or proved gone", () => {
    const linked = compute({ linked: "ep-one", status: { endpointID: "ep-one", state: "Lost" } });
    expect(stateOf(linked, "Unauthorized", { kind: "none" }, blind)).toBe("Lost");
    const proved = lost({ linked: "ep-one", status: { endpointID: "ep-one", gone: "ep-one" } });
    expect(stateOf(proved, "Unauthorized", { kind: "none" }, blind)).toBe("Lost");
  });

  test("the state is not Lost where the endpoint is another's, or none was ever linked", () => {
    expect(stateOf(lost({ linked: "ep-one" }), "Conflict", { kind: "ownedByOther" })).toBe("NotCreated");
    expect(stateOf(compute(), "MassLoss")).toBe("NotCreated");
  });
});

describe("the record and the proof", () => {
  const record = recordOf();
  const linked = compute({ linked: "ep-one" });

  test.each<[string, object]>([
    ["what is seen", {}],
    ["what is not seen", blind],
  ])("record and proof are in every status, with %s", (_, view) => {
    expect(statusAfter(shown(linked, "Updating", ""), { ...view, record }).pendingWrite).toEqual(record);
  });

  test("a record that closed leaves the status with the next one that says something, and is no reason for one while something is in progress", () => {
    const recorded = after(shown(linked, "Creating", ""), { record });
    expect(nextStatus(shown(recorded, "Creating", ""), seen({}, recorded))).toBeUndefined();
    expect(statusAfter(active(recorded))).not.toHaveProperty("pendingWrite");
  });

  test("a record that closed stays in a status that names no endpoint while a create is under way", () => {
    const creating = after(shown(compute(), "Creating", ""), { ...gone, record });
    const named = { ...creating, spec: { ...creating.spec, computeUnits: { min: 2, max: 2 } } };
    expect(statusAfter(shown(named, "Creating", ""), gone)).toMatchObject({ size: "2 CU", pendingWrite: record });
    expect(statusAfter(active(creating))).not.toHaveProperty("pendingWrite");
    expect(statusAfter(shown(named, "Rejected", ""), gone)).not.toHaveProperty("pendingWrite");
  });

  test("the record of what was never sent is no reason for a write", () => {
    const creating = after(shown(linked, "Creating", ""));
    expect(nextStatus(shown(creating, "Creating", ""), seen({ record }, creating))).toBeUndefined();
    const sent = { record, sent: record.operation };
    expect(statusAfter(shown(creating, "Creating", ""), sent).pendingWrite).toEqual(record);
  });

  test("a record that closed leaves the status of a Compute at rest", () => {
    const resting = after(active(linked), { record });
    expect(statusAfter(active(resting))).not.toHaveProperty("pendingWrite");
  });

  test.each(["signature", "created", "adopted"] as const)(
    "a proof of kind %s is noted of the endpoint that is shown",
    (proof) => {
      expect(statusAfter(active(linked), { proof }).proof).toEqual(proofFor("ep-one", proof));
    },
  );

  test("a proof is not noted of a link alone, and an earlier one stays", () => {
    expect(statusAfter(active(linked), { proof: "none" })).not.toHaveProperty("proof");
    const noted = compute({ linked: "ep-one", status: { endpointID: "ep-one", proof: proofFor("ep-two") } });
    expect(statusAfter(active(noted), { proof: "none" }).proof).toEqual(proofFor("ep-two"));
  });

  test("a proof that an endpoint is gone is recorded once that is proved", () => {
    const effect = { kind: "gone", endpointID: "ep-one" } as const;
    expect(statusAfter(shown(linked, "EndpointLost", "", { effect }), gone)).toMatchObject({ gone: "ep-one" });
  });
});

describe("a loss in doubt", () => {
  const doubted = compute({ linked: "ep-one", status: { endpointID: "ep-one", lossDoubted: true } });
  const isDoubted = (reason: Reason, fields: object, of = doubted) =>
    statusAfter(shown(of, reason, ""), fields).lossDoubted === true;

  test("stays so while nothing is seen, and while paused", () => {
    expect(isDoubted("ServiceUnavailable", blind)).toBe(true);
    expect(isDoubted("Paused", blind)).toBe(true);
    expect(isDoubted("Paused", gone)).toBe(true);
  });

  test("a doubt is over once the endpoint is seen, or lists lack it and something else is said", () => {
    expect(isDoubted("Active", {})).toBe(false);
    expect(isDoubted("Paused", {})).toBe(false);
    expect(isDoubted("Creating", gone)).toBe(false);
  });
});

test("a Compute that was never reconciled has the restart that its annotation asks for recorded as done", () => {
  const annotations = { endpointID: "ep-one", restartedAt: "now" };
  const fresh = compute({ linked: "ep-one", annotations, status: { observedGeneration: undefined } });
  expect(statusAfter(active(fresh)).restartedAt).toBe("now");
  expect(statusAfter(shown(fresh, "Paused", ""))).not.toHaveProperty("restartedAt");
  expect(statusAfter(active(compute({ linked: "ep-one", annotations })))).not.toHaveProperty("restartedAt");
});

test.each([
  [{ kind: "ClusterServiceConnection", name: "shared" }, "shared"],
  [{ name: "default" }, undefined],
])("the ClusterServiceConnection of %j is shown as %s", (connectionRef, name) => {
  expect(statusAfter(active(compute({ linked: "ep-one", spec: { connectionRef } }))).clusterConnection).toBe(name);
});

describe("an operation", () => {
  const times = { created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:05Z" };
  const one = operation({ status: "finished", failures_count: 2, ...times });
  const other = operation({ id: "op-2", status: "finished", ...times });
  const settled = after(active(), { operations: [one, other] });

  test("keeps what the service no longer shows of it", () => {
    const bare = operation({ status: "failed", created_at: undefined });
    expect(statusAfter(active(settled), { operations: [bare, other] }).operations).toMatchObject([
      { status: "failed", failuresCount: 2, createdAt: times.created_at, updatedAt: times.updated_at },
      {},
    ]);
  });

  test("an operation is not worth a write where only that time changed, and is written with it where more did", () => {
    const later = { ...one, updated_at: "2026-01-01T00:10:00Z" };
    expect(nextStatus(active(settled), seen({ operations: [later, other] }))).toBeUndefined();
    const failed = { ...later, failures_count: 3 };
    expect(statusAfter(active(settled), { operations: [failed, other] }).operations?.[0]).toMatchObject({
      failuresCount: 3,
      updatedAt: "2026-01-01T00:10:00Z",
    });
  });
});

describe("the note that this operator disabled the endpoint", () => {
  const noted = (
    status: Compute["status"],
    disabled: boolean,
    { spec = {}, ...fields }: { spec?: Record<string, unknown> } & Parameters<typeof statusAfter>[1] = {},
  ) => {
    const of = compute({ linked: "ep-one", spec, status: { endpointID: "ep-one", ...status } });
    return statusAfter(active(of), { endpoint: full({ disabled }), ...fields }).disabledByUs;
  };
  const byUs = { disabledByUs: true };

  test.each([
    ["a list from late enough shows it enabled", true, false, undefined],
    ["an earlier list shows it enabled: it may lag", false, false, true],
    ["a list from late enough shows it disabled", true, true, true],
  ])("the note follows the list where %s", (_, clearsDisabling, disabled, expected) => {
    expect(noted(byUs, disabled, { clearsDisabling })).toBe(expected);
    expect(noted(byUs, disabled, { clearsDisabling, spec: { disabled: true } })).toBe(expected);
  });

  test("stays where the service does not show whether it is disabled", () => {
    const of = compute({ linked: "ep-one", status: { endpointID: "ep-one", ...byUs } });
    expect(statusAfter(active(of), { endpoint: full({ disabled: undefined }) }).disabledByUs).toBe(true);
  });

  test("the note is restored for an endpoint of ours that no status shows yet, and for no other", () => {
    const asked = { spec: { disabled: true } };
    expect(noted({ endpointID: undefined }, true, asked)).toBe(true);
    expect(noted({ endpointID: undefined }, true, { ...asked, proof: "adopted" })).toBeUndefined();
    // After a wiped status somebody else may have disabled it.
    expect(noted({ endpointID: undefined }, true)).toBeUndefined();
    const proof = { uid: "uid-1", endpointID: "ep-one", by: "signature" };
    expect(noted({ proof }, true, asked)).toBeUndefined();
  });

  test("the note is made where a status without a proof, as of a restored Compute, shows an endpoint of ours disabled as asked", () => {
    expect(noted({}, true, { spec: { disabled: true } })).toBe(true);
    expect(noted({}, true)).toBeUndefined();
    expect(noted({}, true, { spec: { disabled: true }, proof: "adopted" })).toBeUndefined();
  });
});
