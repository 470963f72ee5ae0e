import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { type Reason, reasons } from "../../../src/operator/compute/reasons.ts";
import { nextStatus, poolerHost, type Seen, sizeInWords, stateOf } from "../../../src/operator/compute/status.ts";
import type { Compute, ComputeStatus } from "../../../src/operator/resources/compute.ts";
import { conditionOf } from "../../../src/operator/resources/conditions-of.ts";
import { compute, endpoint, operation } from "../../support/builders.ts";

const noon = Date.UTC(2026, 0, 1, 12);
const minute = 60_000;

function seen(fields: Partial<Seen> = {}): Seen {
  const shownEndpoint = "endpoint" in fields ? fields.endpoint : full();
  return {
    absent: shownEndpoint === undefined,
    answers: true,
    operations: [],
    through: "here",
    binding: undefined,
    now: noon,
    ...fields,
    endpoint: shownEndpoint,
  };
}

function full(fields: Partial<Endpoint> = {}): Endpoint {
  return endpoint({
    host: "ep-one.aws-us-east-2.example.com",
    region_id: "aws-us-east-2",
    autoscaling_limit_min_cu: 0.25,
    autoscaling_limit_max_cu: 2,
    disabled: false,
    last_active: "2026-01-01T11:00:00Z",
    ...fields,
  });
}

const self = compute({ linked: "ep-one" });
const active = (of: Compute = self) => shown(of, "Active", "The compute is as declared.");

function isReason(text: string): text is Reason {
  return Object.hasOwn(reasons, text);
}

/** The Compute with the status that a pass leaves it. */
function after(outcome: Outcome, fields: Partial<Seen> = {}): Compute {
  return { ...outcome.compute, status: statusAfter(outcome, fields) };
}

function statusAfter(outcome: Outcome, fields: Partial<Seen> = {}): ComputeStatus {
  const status = nextStatus(outcome, seen(fields));
  if (status === undefined) throw new Error("the status stays as it was");
  return status;
}

test("a status shows what the console would", () => {
  expect(
    statusAfter(active(), { binding: "shop-db", operations: [operation({ status: "finished", failures_count: 0 })] }),
  ).toEqual({
    observedGeneration: 1,
    appliedGeneration: 1,
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
    regionID: "aws-us-east-2",
    currentState: "active",
    type: "read_write",
    branchID: "br-main",
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
  });
});

describe("a second look at the same", () => {
  const settled = after(active());

  test("writes nothing", () => {
    expect(nextStatus(active(settled), seen({ now: noon + 60 * minute }))).toBeUndefined();
  });

  test.each([
    ["less than 15 minutes later", "2026-01-01T11:14:59Z", false],
    ["15 minutes later", "2026-01-01T11:15:00Z", true],
    ["more than 15 minutes earlier", "2026-01-01T10:00:00Z", true],
  ])("at which lastActive alone is %s", (_, last_active, written) => {
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

  test("of which nothing new is known keeps the conditions, and what was seen before", () => {
    expect(
      nextStatus(unchanged(settled), seen({ endpoint: undefined, absent: false, through: undefined })),
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

  test("that are fixed have one figure each; that are not known have none", () => {
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
});

test("the pooled host is told only where the host begins with the id", () => {
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
  ])("is %s for %j (%s)", (state, fields, reason) => {
    expect(stateOf(endpoint(fields), reason, false)).toBe(state);
    expect(stateOf(endpoint(fields), reason, true)).toBe("Deleting");
  });

  test.each<[string, Reason]>([
    ["Lost", "EndpointLost"],
    ["Lost", "MassLoss"],
    ["Creating", "CreateUnknown"],
    ["Creating", "ProjectBusy"],
    ["Unknown", "PrimaryExists"],
  ])("is %s where there is no endpoint (%s)", (state, reason) => {
    expect(statusAfter(shown(self, reason, ""), { endpoint: undefined }).state).toBe(state);
  });

  test("is Unknown, and no longer as last seen, while nothing can be seen", () => {
    const settled = after(active());
    const blind = { endpoint: undefined, absent: false, through: undefined };
    const status = statusAfter(shown(settled, "Unauthorized", "no"), blind);
    expect(status).toMatchObject({
      state: "Unknown",
      host: "ep-one.aws-us-east-2.example.com",
      observedThrough: "here",
    });
    expect(status).not.toHaveProperty("currentState");
  });

  test("stays Lost while the create in the place of the lost endpoint is refused", () => {
    const lost = after(shown(self, "EndpointLost", ""), { endpoint: undefined });
    expect(statusAfter(shown(lost, "ProjectBusy", "busy"), { endpoint: undefined }).state).toBe("Lost");
  });
});

describe("operations", () => {
  const at = (n: number, fields = {}) =>
    operation({ id: `op-${n}`, created_at: `2026-01-01T00:00:${String(n).padStart(2, "0")}Z`, ...fields });

  test("are shown newest first, ten at most, those told of before among them", () => {
    const first = after(active(), { operations: [1, 2, 3, 4, 5, 6].map((n) => at(n)) });
    const later = statusAfter(active(first), { operations: [7, 8, 9, 10, 11, 12].map((n) => at(n)) });
    expect(later.operations?.map(({ id }) => id)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `op-${n}`));
  });

  test("take on what is newer of them, from a write's answer and from a list", () => {
    const first = after({ ...active(), operations: [at(1, { status: "scheduling" })] });
    expect(first.status.operations).toMatchObject([{ id: "op-1", status: "scheduling" }]);
    const done = [at(1, { status: "finished", failures_count: 2 })];
    expect(statusAfter(active(first), { operations: done }).operations).toMatchObject([
      { status: "finished", failuresCount: 2 },
    ]);
  });

  test("of a former endpoint are not shown with the new one", () => {
    const first = after(active(), { operations: [at(1)] });
    expect(statusAfter(active(first), { endpoint: full({ id: "ep-two" }) })).not.toHaveProperty("operations");
  });
});

describe("conditions", () => {
  test.each(Object.keys(reasons).filter(isReason))(
    "of %s are those of the table, all with one reason and message",
    (reason) => {
      const row = reasons[reason];
      const { conditions = [] } = statusAfter(shown(self, reason, "why"));
      const types = [
        "Ready",
        "Synced",
        ...(row.reconciling ? ["Reconciling"] : []),
        ...(row.stalled ? ["Stalled"] : []),
      ];
      expect(conditions.map(({ type }) => type)).toEqual(types);
      expect(new Set(conditions.map((condition) => `${condition.reason} ${condition.message}`))).toEqual(
        new Set([`${reason} why`]),
      );
      expect(conditions.slice(2).every(({ status }) => status === "True")).toBe(true);
    },
  );

  test("are dated when their status changes, not when their reason does", () => {
    const settled = after(active());
    const idle = after(shown(settled, "Idle", "asleep"), { now: noon + minute });
    expect(conditionOf(idle.status, "Ready")).toMatchObject({
      reason: "Idle",
      lastTransitionTime: "2026-01-01T12:00:00Z",
    });
    const busy = after(shown(idle, "Updating", "on it"), { now: noon + 2 * minute });
    expect(conditionOf(busy.status, "Ready")).toMatchObject({
      status: "False",
      lastTransitionTime: "2026-01-01T12:02:00Z",
    });
  });

  test("stay as they were while paused, and observedGeneration stands still", () => {
    const settled = after(active());
    const edited = { ...settled, metadata: { ...settled.metadata, generation: 2 } };
    const status = statusAfter(shown(edited, "Paused", "paused"));
    expect(status).toMatchObject({ observedGeneration: 1, appliedGeneration: 1 });
    expect(conditionOf(status, "Ready")).toMatchObject({ status: "True", reason: "Paused" });
    expect(conditionOf(statusAfter(shown(compute({ linked: "ep-one" }), "Paused", "")), "Ready")?.status).toBe(
      "Unknown",
    );
  });

  test("have messages of at most 1 KiB, cut between two characters", () => {
    const { message = "" } = conditionOf(statusAfter(shown(self, "Rejected", "ü".repeat(2000))), "Ready") ?? {};
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1024);
    expect(message).toMatch(/^ü+…$/);
  });
});

describe("the generation that the service was brought to", () => {
  const edited = compute({ linked: "ep-one", generation: 2, status: { endpointID: "ep-one", appliedGeneration: 1 } });

  test.each<[Reason, boolean, number]>([
    ["Active", false, 2],
    ["Drifted", false, 2],
    ["Updating", true, 2],
    ["Updating", false, 1],
    ["Rejected", false, 1],
    ["Paused", false, 1],
  ])("after %s (sent: %s) is %i", (reason, applied, generation) => {
    expect(statusAfter({ ...shown(edited, reason, ""), applied }).appliedGeneration).toBe(generation);
  });
});

describe("a fresh look that was asked for", () => {
  const asked = compute({ linked: "ep-one", annotations: { endpointID: "ep-one", reconcileRequestedAt: "now" } });

  test("is answered with the look, also where there is nothing to see yet", () => {
    expect(statusAfter(active(asked)).lastHandledReconcileAt).toBe("now");
    expect(statusAfter(shown(asked, "Conflict", ""), { endpoint: undefined }).lastHandledReconcileAt).toBe("now");
  });

  test("at an endpoint that is lost is not: it stands for a person's consent to make another", () => {
    const status = statusAfter(shown(asked, "EndpointLost", ""), { endpoint: undefined, answers: false });
    expect(status).not.toHaveProperty("lastHandledReconcileAt");
  });
});

test("drift is shown while there is any, and kept while nothing is known", () => {
  const drift = [{ field: "disabled", ours: "false", theirs: "true" }];
  const drifted = after({ ...shown(self, "Drifted", ""), drift });
  expect(drifted.status.drift).toEqual(drift);
  expect(statusAfter(shown(drifted, "ServiceUnavailable", "")).drift).toEqual(drift);
  expect(statusAfter({ ...active(drifted), drift: [] })).not.toHaveProperty("drift");
});
