import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../../src/api/endpoint.ts";
import type { Operation } from "../../../../src/api/operation.ts";
import { poolerHost } from "../../../../src/api/pooler-host.ts";
import { recordedID } from "../../../../src/operator/claims/ownership.ts";
import { annotationsOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { shown, unchanged } from "../../../../src/operator/compute/outcome.ts";
import { sizeInWords } from "../../../../src/operator/compute/status/capacity.ts";
import { stateSeen } from "../../../../src/operator/compute/status/printed-state.ts";
import type { Seen } from "../../../../src/operator/compute/status/seen.ts";
import { nextStatus } from "../../../../src/operator/compute/status/status.ts";
import { type Reason } from "../../../../src/operator/compute/words/reasons.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { compute, endpoint, operation } from "../../../support/builders.ts";
import { active, after, full, minute, noon, seen, self, statusAfter } from "./updating.ts";

test("a status shows what the console would", () => {
  const secret = { namespace: "team", name: "shop-db", uid: "s" };
  const operations = [operation({ status: "finished", failures_count: 0 })];
  expect(statusAfter(active(), { secret, operations })).toEqual({
    observedGeneration: 1,
    appliedGeneration: 1,
    deletionPolicy: "Delete",
    observedThrough: "here",
    conditions: ["Ready", "Synced"].map((type) => ({
      type,
      status: "True",
      reason: "Active",
      message: "The compute is as declared.",
      lastTransitionTime: "2026-01-01T12:00:00Z",
      observedGeneration: 1,
    })),
    state: "Active",
    endpointID: "ep-one",
    host: "ep-one.aws-us-east-2.example.com",
    poolerHost: "ep-one-pooler.aws-us-east-2.example.com",
    proof: { uid: self.metadata.uid, endpointID: "ep-one", by: "signature" },
    regionID: "aws-us-east-2",
    currentState: "active",
    type: "read_write",
    access: "rw",
    branchID: "br-main",
    branch: "br-main",
    computeUnits: { min: 0.25, max: 2 },
    size: "0.25–2 CU",
    disabled: false,
    lastActive: "2026-01-01T11:00:00Z",
    createdAt: "2026-01-01T00:00:00Z",
    capacity: {
      vCPU: { min: 0.25, max: 2 },
      memoryGB: { min: 1, max: 8 },
      localFileCacheGB: { min: 0.8, max: 6.4 },
      maxConnections: 901,
      pooledConnections: 10_000,
      temporaryDiskGiB: 30,
    },
    operations: [
      { id: "op-1", action: "apply_config", status: "finished", failuresCount: 0, createdAt: "2026-01-01T00:00:00Z" },
    ],
    binding: { name: "shop-db" },
    connectionSecret: secret,
  });
});

describe("a second reconcile without a change", () => {
  const settled = after(active());

  test("writes nothing", () => {
    expect(nextStatus(active(settled), seen({ now: noon + 60 * minute }))).toBeUndefined();
  });

  test.each([
    ["less than 15 minutes later", "2026-01-01T11:14:59Z", false],
    ["15 minutes later", "2026-01-01T11:15:00Z", true],
    ["more than 15 minutes earlier", "2026-01-01T10:00:00Z", true],
  ])("a second reconcile at which lastActive alone is %s", (_, last_active, written) => {
    expect(nextStatus(active(settled), seen({ endpoint: full({ last_active }) })) !== undefined).toBe(written);
  });

  test("shows lastActive at once the first time, and whenever something else is written anyway", () => {
    const never = after(active(), { endpoint: endpoint() });
    expect(
      statusAfter(active(never), { endpoint: endpoint({ last_active: "2026-01-01T11:00:00Z" }) }).lastActive,
    ).toBeDefined();
    const moved = full({ last_active: "2026-01-01T11:00:30Z", disabled: true });
    expect(statusAfter(active(settled), { endpoint: moved }).lastActive).toBe("2026-01-01T11:00:30Z");
  });

  test("a reconcile without news keeps the conditions, and what was seen before", () => {
    expect(
      nextStatus(unchanged(settled), seen({ endpoint: undefined, absent: false, fingerprint: undefined })),
    ).toBeUndefined();
  });
});

describe("sizes", () => {
  test.each([
    [0.25, 2, "0.25–2 CU"],
    [4, 4, "4 CU"],
    [0.5, 0.5, "0.5 CU"],
  ])("%d to %d read %s", (min, max, words) => {
    expect(sizeInWords({ min, max })).toBe(words);
  });

  test("fixed sizes have one figure each, and unknown ones none", () => {
    const fixed = full({ autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 });
    expect(statusAfter(active(), { endpoint: fixed }).capacity).toMatchObject({
      vCPU: 4,
      memoryGB: 16,
      maxConnections: 1802,
    });
    const unknown = statusAfter(active(), { endpoint: endpoint() });
    expect(unknown).not.toHaveProperty("capacity");
    expect(unknown).not.toHaveProperty("size");
  });

  test("sizes are those of the spec until an endpoint was seen, and then what was last seen", () => {
    const spec = { computeUnits: { min: 1, max: 4 } };
    const blind = { endpoint: undefined, absent: false };
    expect(statusAfter(shown(compute({ spec }), "PrimaryExists", ""), { endpoint: undefined }).size).toBe("1–4 CU");
    expect(statusAfter(shown(compute({ spec }), "Unauthorized", ""), blind).size).toBe("1–4 CU");
    expect(statusAfter(shown(compute(), "Unauthorized", ""), blind)).not.toHaveProperty("size");
    const settled = after(active(compute({ linked: "ep-one", spec })));
    expect(settled.status.size).toBe("0.25–2 CU");
    expect(statusAfter(shown(settled, "Unauthorized", ""), blind).size).toBe("0.25–2 CU");
    expect(statusAfter(shown(settled, "EndpointLost", ""), { endpoint: undefined }).size).toBe("0.25–2 CU");
    expect(statusAfter(active(compute({ linked: "ep-one", spec })), { endpoint: endpoint() }).size).toBe("1–4 CU");
  });
});

test("the pooled host is shown only if the host begins with the id", () => {
  expect(poolerHost(endpoint({ host: "ep-one.example.com" }))).toBe("ep-one-pooler.example.com");
  expect(poolerHost(endpoint({ host: "10.0.0.1" }))).toBeUndefined();
  expect(poolerHost(endpoint({ host: "ep-oneandhalf.example.com" }))).toBeUndefined();
  expect(poolerHost(endpoint())).toBeUndefined();
});

describe("the state in one word", () => {
  test.each<[string, Partial<Endpoint>, Reason | undefined]>([
    ["Active", {}, "Active"],
    ["Active", { pending_state: "idle" }, "Active"],
    ["Idle", { current_state: "idle" }, "Active"],
    ["Starting", { current_state: "idle", pending_state: "active" }, "Idle"],
    ["Disabled", { current_state: "idle", disabled: true }, "Disabled"],
    ["Creating", { current_state: "init" }, undefined],
    ["Updating", { current_state: "idle" }, "Updating"],
    ["Moving", {}, "Moving"],
    ["Restarting", {}, "Restarting"],
    ["Unknown", { current_state: "a state of next year" }, "Active"],
    ["Active", {}, "ServiceUnavailable"],
  ])("the state is %s for %j (%s)", (state, fields, reason) => {
    const outcome = (of: Compute) => (reason === undefined ? unchanged(of) : shown(of, reason, ""));
    expect(stateSeen(endpoint(fields), outcome(self))).toBe(state);
    expect(stateSeen(endpoint(fields), outcome(compute({ linked: "ep-one", deleting: true })))).toBe("Deleting");
  });

  test.each<[string, Reason]>([
    ["Lost", "EndpointLost"],
    ["Lost", "MassLoss"],
    ["Lost", "AdoptionRefused"],
    ["Unknown", "Paused"],
  ])("the state is %s where lists lack the endpoint (%s)", (state, reason) => {
    expect(statusAfter(shown(self, reason, ""), { endpoint: undefined }).state).toBe(state);
  });

  test.each<[string, Reason, Parameters<typeof compute>[0]]>([
    ["NotCreated", "PrimaryExists", {}],
    ["NotCreated", "AdoptionRefused", {}],
    ["NotCreated", "Creating", {}],
    ["NotCreated", "ProjectBusy", {}],
    ["NotCreated", "Paused", {}],
    ["Deleting", "Deleting", { deleting: true }],
  ])("the state is %s where there is no endpoint (%s), whether or not the service is seen", (state, reason, fields) => {
    for (const absent of [true, false]) {
      const status = statusAfter(shown(compute(fields), reason, ""), { endpoint: undefined, absent });
      expect(status.state).toBe(state);
    }
  });

  test("stays as last seen while nothing can be seen, and so does all else", () => {
    const settled = after(active());
    const blind = { endpoint: undefined, absent: false, fingerprint: undefined };
    const { conditions: _, ...status } = statusAfter(shown(settled, "Unauthorized", "no"), blind);
    const { conditions: __, ...before } = settled.status;
    expect(status).toEqual(before);
  });

  test("the state is Unknown if an endpoint is linked, no status describes it and no list shows it", () => {
    const restored = compute({ annotations: { endpointID: "ep-one" } });
    expect(statusAfter(shown(restored, "Unauthorized", "no"), { endpoint: undefined, absent: false }).state).toBe(
      "Unknown",
    );
  });

  test("shows nothing of an endpoint that is another's", () => {
    const ownedByOther = shown(after(active()), "Conflict", "", { effect: { kind: "ownedByOther" } });
    const status = statusAfter(ownedByOther, { endpoint: undefined });
    expect([status.state, status.host, status.size]).toEqual(["NotCreated", undefined, undefined]);
  });

  test("stays Lost while the create in the place of the lost endpoint is refused", () => {
    const lost = after(shown(self, "EndpointLost", ""), { endpoint: undefined });
    expect(statusAfter(shown(lost, "ProjectBusy", "busy"), { endpoint: undefined }).state).toBe("Lost");
  });
});

describe("operations", () => {
  const written = (operations: readonly Operation[]) =>
    shown(self, "Updating", "", {
      effect: { kind: "accepted", entry: "", generation: 1, endpoint: undefined, operations },
    });
  const at = (n: number, fields = {}) =>
    operation({ id: `op-${n}`, created_at: `2026-01-01T00:00:${String(n).padStart(2, "0")}Z`, ...fields });

  test("operations are shown newest first, ten at most, earlier ones included", () => {
    const first = after(active(), { operations: [1, 2, 3, 4, 5, 6].map((n) => at(n)) });
    const later = statusAfter(active(first), { operations: [7, 8, 9, 10, 11, 12].map((n) => at(n)) });
    expect(later.operations?.map(({ id }) => id)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `op-${n}`));
  });

  test("take on what is newer of them, from a write's answer and from a list", () => {
    const first = after(written([at(1, { status: "scheduling" })]));
    expect(first.status.operations).toMatchObject([{ id: "op-1", status: "scheduling" }]);
    const done = [at(1, { status: "finished", failures_count: 2 })];
    expect(statusAfter(active(first), { operations: done }).operations).toMatchObject([
      { status: "finished", failuresCount: 2 },
    ]);
  });

  test("operations whose end the service never showed have an unknown outcome once nothing is in progress, and no sooner", () => {
    const begun = after(written([at(1), at(2, { status: "finished" })]));
    expect(begun.status.operations?.map(({ status }) => status)).toEqual(["finished", "running"]);
    const settled = after(active(begun));
    expect(settled.status.operations?.map(({ status }) => status)).toEqual(["finished", "unknown"]);
    expect(nextStatus(active(settled), seen())).toBeUndefined();
    expect(
      statusAfter(active(settled), { operations: [at(1, { status: "failed" })] }).operations?.map(
        ({ status }) => status,
      ),
    ).toEqual(["finished", "failed"]);
  });

  test("operations of a former endpoint are not shown with the new one", () => {
    const first = after(active(), { operations: [at(1)] });
    expect(statusAfter(active(first), { endpoint: full({ id: "ep-two" }) })).not.toHaveProperty("operations");
  });
});

describe("the deletion policy in force", () => {
  const policyOf = (spec: Record<string, unknown>, fields: Partial<Seen> = {}, status = {}) =>
    statusAfter(shown(compute({ linked: "ep-one", spec, status }), "Active", "now"), fields).deletionPolicy;

  test.each([
    ["that of the spec", "Retain", { deletionPolicy: "Retain" }, "signature"],
    ["that of the spec, for what was adopted too", "Delete", { deletionPolicy: "Delete" }, "adopted"],
    ["Delete for what was made", "Delete", {}, "created"],
    ["Delete where only an annotation links it: of that nothing is deleted", "Delete", {}, "none"],
    ["Retain for what was adopted", "Retain", {}, "adopted"],
  ] as const)("the deletion policy is %s", (_, policy, spec, proof) => {
    expect(policyOf(spec, { proof })).toBe(policy);
  });

  test("stays by its proof while no endpoint is seen, and is not known before", () => {
    const proof = (by: string) => ({ proof: { uid: compute().metadata.uid, endpointID: "ep-one", by } });
    expect(policyOf({}, { endpoint: undefined }, proof("adopted"))).toBe("Retain");
    expect(policyOf({}, { endpoint: undefined }, { ...proof("signature"), deletionPolicy: "Retain" })).toBe("Delete");
    expect(policyOf({}, { endpoint: undefined }, { deletionPolicy: "Retain" })).toBeUndefined();
    const another = shown(compute({ linked: "ep-one", status: { deletionPolicy: "Delete" } }), "Conflict", "no", {
      effect: { kind: "ownedByOther" },
    });
    expect(statusAfter(another, { endpoint: undefined }).deletionPolicy).toBeUndefined();
  });
});

test("where annotation and status name two endpoints and both are gone, the status forgets its own, and none is looked for again", () => {
  const lost = (gone: string | undefined, endpointID = "ep-old") =>
    compute({ linked: "ep-new", status: { endpointID, ...(gone === undefined ? {} : { gone }) } });
  const proved = (object: Compute, endpointID: string) =>
    after(unchanged(object, { effect: { kind: "gone", endpointID } }), {
      annotations: annotationsOf(object, 0),
      endpoint: undefined,
    });
  const first = proved(lost(undefined), "ep-new");
  expect(recordedID(first)).toBe("ep-old");
  const second = proved(first, "ep-old");
  expect(second.status).toMatchObject({ gone: "ep-new" });
  expect(recordedID(second)).toBeUndefined();
});
