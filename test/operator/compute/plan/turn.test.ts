import { describe, expect, test } from "vitest";
import { mostLagMs } from "../../../../src/api/list-lag.ts";
import type { ReadonlyState } from "../../../../src/operator/compute/memory.ts";
import type { Siblings } from "../../../../src/operator/compute/observe/observation.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { isCutOver } from "../../../../src/operator/compute/plan/turn.ts";
import { type ComputeFields, compute, input, madeBy, now } from "../../../support/builders.ts";

const siblings = (unavailable: number, maxUnavailable = 1, termSince = 0): Siblings => ({
  pool: "readers",
  maxUnavailable,
  termSince,
  unavailable: () => unavailable,
});

const condition = (status: string, reason: string) => ({
  conditions: [{ type: "Ready", status, reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }],
});

interface Given extends Omit<ComputeFields, "spec"> {
  siblings?: Siblings;
  spec?: Record<string, unknown>;
  shown?: ReturnType<typeof condition>;
  state?: Partial<ReadonlyState>;
  size?: number;
  current?: string;
}

/** A member at one size whose spec says another. */
function given({
  siblings: others,
  shown = condition("True", "Active"),
  state,
  size = 1,
  current = "active",
  ...fields
}: Given) {
  const self = compute({
    linked: "ep-one",
    generation: 2,
    ...fields,
    spec: { type: "read_only", computeUnits: { min: 2, max: 2 }, ...fields.spec },
    status: { observedGeneration: 2, appliedGeneration: 1, endpointID: "ep-one", ...fields.status, ...shown },
  });
  const shows = madeBy(self, {
    autoscaling_limit_min_cu: size,
    autoscaling_limit_max_cu: size,
    suspend_timeout_seconds: 300,
    current_state: current,
  });
  const [o, s] = input({ compute: self, endpoints: [shows], ...(state && { state }) });
  return [{ ...o, ...(others && { siblings: others }) }, s] as const;
}

const planned = (fields: Given) => plan(...given(fields));
const waits = { kind: "settled", reason: "WaitingForTurn" };

describe("a write that cuts the connections of a pool's member", () => {
  test("an edit waits while as many siblings as may be are unavailable, and goes once there are fewer", () => {
    expect(planned({ siblings: siblings(1) })).toMatchObject(waits);
    expect(planned({ siblings: siblings(0) })).toMatchObject({ kind: "patch" });
    expect(planned({ siblings: siblings(2, 3) })).toMatchObject({ kind: "patch" });
    expect(planned({ siblings: siblings(3, 3) })).toMatchObject(waits);
  });

  test("a restart waits in the same way", () => {
    const asked = { annotations: { endpointID: "ep-one", restartedAt: "now" }, size: 2 };
    expect(planned({ ...asked, siblings: siblings(1) })).toMatchObject(waits);
    expect(planned({ ...asked, siblings: siblings(0) })).toMatchObject({ kind: "restart" });
  });

  test("a correction of drift waits in the same way", () => {
    const drifted = { generation: 2, status: { appliedGeneration: 2 } };
    expect(planned({ ...drifted, siblings: siblings(1) })).toMatchObject(waits);
    expect(planned({ ...drifted, siblings: siblings(0) })).toMatchObject({ kind: "patch" });
  });

  test("the status remembers the changes that wait, and the rest of the edit is sent at once", () => {
    const both = { spec: { scaleToZero: { enabled: false } }, siblings: siblings(1) };
    const waiting = [
      { field: "computeUnits.min", ours: "2" },
      { field: "computeUnits.max", ours: "2" },
    ];
    expect(planned({ siblings: siblings(1) })).toMatchObject({ ...waits, waiting });
    expect(planned(both)).toMatchObject({ kind: "patch", waiting, attributes: { suspend_timeout_seconds: -1 } });
  });

  test("nothing waits for a compute that a fresh list shows idle: nobody is connected", () => {
    expect(planned({ siblings: siblings(1), current: "idle" })).toMatchObject({ kind: "patch" });
  });

  test("a change that cuts no connection does not wait", () => {
    const scaling = { spec: { scaleToZero: { enabled: false } }, size: 2 };
    expect(planned({ ...scaling, siblings: siblings(1) })).toMatchObject({ kind: "patch" });
  });

  test("a member that is not ready by a fault of its own does not wait", () => {
    for (const reason of ["OperationFailed", "Rejected"])
      expect(planned({ shown: condition("False", reason), siblings: siblings(1) })).toMatchObject({ kind: "patch" });
  });

  test.each(["ServiceUnavailable", "RateLimited", "Unauthorized", "ProjectBusy", "Updating", "Creating"])(
    "a member whose clients may be connected waits, whatever keeps it from being ready: %s",
    (reason) => {
      expect(planned({ shown: condition("False", reason), siblings: siblings(1) })).toMatchObject(waits);
    },
  );

  test("a member that has such a write already, which no list shows ended, does not wait for another", () => {
    expect(planned({ state: { cutAt: now - 1 }, siblings: siblings(1) })).toMatchObject({ kind: "patch" });
  });

  test("a new term waits for a list that began once older ones can lag no more", () => {
    const [o] = given({});
    const startedAt = "startedAt" in o ? o.startedAt : 0;
    const began = (ms: number) => planned({ siblings: siblings(0, 1, startedAt - ms) });
    expect(began(mostLagMs - 10)).toMatchObject({ ...waits, requeueAfterMs: 1000 });
    expect(began(mostLagMs)).toMatchObject({ kind: "patch" });
  });

  test("a Compute that is no pool's member waits for nobody", () => {
    expect(planned({})).toMatchObject({ kind: "patch" });
  });
});

describe("the turn of a member ends", () => {
  const settled = { kind: "settled", reason: "Active", message: "", drift: [] } as const;
  const seen = (fields: object = {}, cutAt: number | undefined = 0) => {
    const [o, s] = given({ size: 2, state: { cutAt } });
    const observed = "startedAt" in o ? o : undefined;
    if (observed === undefined) throw new Error("nothing is observed");
    return [{ ...observed, startedAt: 100, ...fields }, s] as const;
  };

  test("with a list that began after the write, and shows it over", () => {
    expect(isCutOver(...seen({}, 50), settled)).toBe(true);
  });

  test.each<[string, object, number | undefined]>([
    ["without such a write", {}, undefined],
    ["with a list from before the end of the write", {}, 100],
    ["while the request is under way", {}, Number.POSITIVE_INFINITY],
    ["with a list from before the end of its operations", { operationsEndedAt: 100 }, 50],
    ["while only the answer shows the change", { laidOver: true }, 50],
    ["while an operation runs", { operations: [{ id: "op", action: "apply_config", status: "running" }] }, 50],
  ])("but not %s", (_, fields, cutAt) => {
    const [o, s] = seen(fields, cutAt);
    expect(isCutOver(o, cutAt === undefined ? { ...s, cutAt: undefined } : s, settled)).toBe(false);
  });

  test("but not while a status is held back, nothing is known, or the change goes on", () => {
    const [o, s] = seen({}, 50);
    const held = { generation: 2, condition: { kind: "unchanged" }, effect: { kind: "none" }, dueAt: 1 } as const;
    expect(isCutOver(o, { ...s, held }, settled)).toBe(false);
    expect(isCutOver(o, s, { kind: "noop" })).toBe(false);
    expect(isCutOver(o, s, { kind: "wait", reason: "Updating", message: "" })).toBe(false);
    expect(isCutOver(o, s, { kind: "restart", endpointID: "ep-one", value: "now", startedAt: "" })).toBe(false);
    const link = o.links.link && { ...o.links.link, endpoint: { ...o.links.link.endpoint, pending_state: "active" } };
    expect(isCutOver({ ...o, links: { ...o.links, link } }, s, settled)).toBe(false);
  });
});
