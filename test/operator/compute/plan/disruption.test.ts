import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../../src/api/endpoint.ts";
import { asOf, momentOf } from "../../../../src/operator/compute/observe/moment.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { type ComputeFields, compute, type InputFields, input, madeBy, now } from "../../../support/builders.ts";

// 2026-11-25 is a Wednesday; the window is on Sundays.
const noon = Date.parse("2026-11-25T12:00:00Z");
const sunday = Date.parse("2026-11-29T03:00:00Z");
const disruption = { windows: [{ days: ["Sun"], from: "02:00", to: "05:00" }] };
const office = { name: "office", from: "08:00", to: "19:00", computeUnits: { min: 2, max: 8 } };
const awake = { name: "awake", from: "08:00", to: "19:00", scaleToZero: { enabled: false } };

const running = {
  branch_id: "br-main",
  autoscaling_limit_min_cu: 1,
  autoscaling_limit_max_cu: 2,
  suspend_timeout_seconds: 300,
  passwordless_access: true,
  settings: { pg_settings: { work_mem: "4MB" } },
};
const size = { computeUnits: { min: 1, max: 4 } };
const settings = { postgresSettings: { work_mem: "8MB" } };
const harmless = { passwordlessAccess: false };
const waitingSize = [{ field: "computeUnits.max", ours: "4" }];

interface Facts extends Omit<InputFields, "compute" | "endpoints"> {
  seen?: Partial<Endpoint>;
  /** By the service's clock. */
  at?: number;
}

/** The plan for a linked Compute at rest, by default at noon of a workday, with a list of ten seconds ago. */
function planned(fields: ComputeFields, { seen = {}, at = noon, ...facts }: Facts = {}) {
  const stored = compute({ linked: "ep-one", shows: "Active", ...fields, spec: { disruption, ...fields.spec } });
  const self = asOf(stored, at);
  const list = { startedAt: now - 10_000, ...facts.list };
  const [o, s] = input({ ...facts, compute: self, endpoints: [madeBy(self, { ...running, ...seen })], list });
  return plan({ ...o, moment: momentOf(stored, undefined, at) }, s);
}

/** An edit for which no list is asked any more. */
const edited = (spec: object): ComputeFields => ({
  generation: 2,
  spec: { ...spec },
  status: { appliedGeneration: 1 },
});
const asked = { state: { idleAsked: 2 } };

describe("while no window is open", () => {
  test.each([
    ["a size", size],
    ["a setting", settings],
    ["a move", { branchID: "br-other" }],
  ])("%s waits, of an edit as of drift, and goes on being ready", (_, spec) => {
    expect(planned(edited(spec), asked)).toMatchObject({ kind: "settled", reason: "WaitingForWindow", drift: [] });
    expect(planned(edited(spec), { ...asked, at: sunday }).kind).toBe("patch");
  });

  test("the other fields of an edit are sent, and the status is told what waits", () => {
    expect(planned(edited({ ...size, ...harmless }), asked)).toMatchObject({
      kind: "patch",
      attributes: { passwordless_access: false },
      fields: ["passwordlessAccess"],
      waiting: waitingSize,
    });
  });

  test("a correction of drift waits, and one that cuts nothing does not", () => {
    expect(planned({ spec: size })).toMatchObject({ reason: "WaitingForWindow", waiting: waitingSize });
    expect(planned({ spec: { ...size, ...harmless } })).toMatchObject({
      kind: "patch",
      attributes: { passwordless_access: false },
      corrects: [{ field: "passwordlessAccess" }],
    });
  });

  test("the setting of a service that does not show settings waits, and is sent in the window of the same generation", () => {
    const seen = { settings: {} };
    const waiting = [{ field: "postgresSettings", ours: "work_mem=8MB" }];
    expect(planned(edited(settings), { ...asked, seen })).toMatchObject({ reason: "WaitingForWindow", waiting });
    const applied = { spec: settings, status: { waiting } };
    expect(planned(applied, { seen })).toMatchObject({ reason: "WaitingForWindow", waiting });
    expect(planned(applied, { seen, at: sunday })).toMatchObject({ kind: "patch", fields: ["postgresSettings"] });
    expect(planned({ spec: settings }, { seen, at: sunday }).kind).toBe("settled");
  });

  test("disabling and restarting do not wait", () => {
    expect(planned(edited({ disabled: true }), { seen: { disabled: false } })).toMatchObject({
      kind: "patch",
      attributes: { disabled: true },
    });
    expect(planned({ annotations: { restartedAt: "now" }, spec: size }, asked).kind).toBe("restart");
  });

  test("the message names the fields, and holds no time", () => {
    const waits = planned(edited(size), asked);
    expect("message" in waits && waits.message).toMatch(/^[^0-9]*computeUnits\.max \(ours 4\)[^0-9]*$/);
  });

  test("until the time of disruptionUntil everything is sent", () => {
    const until = (text: string) => planned({ ...edited(size), annotations: { disruptionUntil: text } }, asked).kind;
    expect(until("2026-11-25T12:30:00Z")).toBe("patch");
    expect(until("2026-11-25T13:30:00+01:00")).toBe("patch");
    expect(until("2026-11-25T11:59:00Z")).toBe("settled");
    expect(until("tomorrow")).toBe("settled");
    // The service's clock is known to two seconds.
    expect(until("2026-11-25T12:00:02Z")).toBe("settled");
    expect(until("2026-11-25T12:00:02.001Z")).toBe("patch");
  });
});

describe("a compute that is suspended", () => {
  const idle = { current_state: "idle" as const };
  const fresh = { list: { startedAt: now - 5000 } };

  test("a suspended compute gets at once what would cut connections, if the list began in the last five seconds", () => {
    expect(planned(edited({ ...size, ...harmless }), { seen: idle, ...fresh })).toMatchObject({
      kind: "patch",
      fields: ["computeUnits.max", "passwordlessAccess"],
    });
    const older = { list: { startedAt: now - 5001 } };
    expect(planned(edited(size), { seen: idle, ...older, ...asked }).kind).toBe("settled");
  });

  test.each([
    ["waking", { ...idle, pending_state: "active" as const }, {}],
    ["running", {}, {}],
    ["as the answer to a write shows it", idle, { laidOver: true as const }],
    ["with an operation", idle, { operations: [{ id: "op", action: "start_compute", status: "running" as const }] }],
  ])("a compute does not count as suspended where it is %s", (_, seen, list) => {
    const facts = { seen, list: { startedAt: now - 100, ...list }, ...asked };
    expect(planned(edited(size), facts)).not.toMatchObject({ kind: "patch" });
  });

  test("a compute counts as suspended where it is disabled too", () => {
    expect(planned(edited(size), { seen: { disabled: true }, ...fresh }).kind).toBe("patch");
  });

  test("a list that shows the compute suspended is asked for by an edit, once for each generation, and by drift not at all", () => {
    expect(planned(edited(size))).toEqual({ kind: "noop", requeueAfterMs: 1, asksWhetherIdle: 2 });
    expect(planned(edited({ ...size, ...harmless }))).toMatchObject({ kind: "noop" });
    expect(planned(edited(size), { state: { idleAsked: 1 } }).kind).toBe("noop");
    expect(planned(edited(size), asked).kind).toBe("settled");
    expect(planned({ spec: size }).kind).toBe("settled");
    expect(planned(edited(harmless)).kind).toBe("patch");
  });

  test("a compute is looked at again in half a minute where an older list showed it suspended", () => {
    expect(planned(edited(size), { seen: idle, ...asked })).toMatchObject({ requeueAfterMs: 30_000 });
    expect(planned(edited(size), asked)).not.toHaveProperty("requeueAfterMs");
  });
});

describe("an entry of the schedule", () => {
  const scheduled = (more: ComputeFields = {}): ComputeFields => ({
    ...more,
    spec: { computeUnits: { min: 1, max: 2 }, schedule: [office], ...more.spec },
    status: { appliedEntry: "", ...more.status },
  });

  test("an entry of the schedule is sent when it comes into force, in a window or not, and is no correction of drift", () => {
    expect(planned(scheduled())).toMatchObject({
      kind: "patch",
      attributes: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 8 },
      entry: "office",
      corrects: [],
    });
  });

  test("an entry of the schedule waits as an edit does where its name is the same", () => {
    const seen = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 4 };
    const applied = scheduled({ generation: 2, status: { appliedEntry: "office", appliedGeneration: 1 } });
    expect(planned(applied, { ...asked, seen })).toMatchObject({ reason: "WaitingForWindow" });
    expect(planned(scheduled({ status: { appliedEntry: "office" } }), { seen })).toMatchObject({
      reason: "WaitingForWindow",
    });
  });

  test("an entry of the schedule carries in its one PATCH what waits", () => {
    expect(planned(scheduled({ spec: settings }))).toMatchObject({
      fields: ["computeUnits.min", "computeUnits.max", "postgresSettings"],
    });
  });

  test("an entry of the schedule that cuts no connections lets none be cut", () => {
    const spec = { ...size, schedule: [awake] };
    expect(planned(scheduled({ spec }))).toMatchObject({
      kind: "patch",
      fields: ["scaleToZero.enabled"],
      waiting: waitingSize,
    });
  });

  test("an entry of the schedule that ends is sent by what the status remembers, also where the schedule has it no more", () => {
    const seen = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 8 };
    const night = Date.parse("2026-11-25T20:00:00Z");
    const ended = scheduled({ status: { appliedEntry: "office" } });
    expect(planned(ended, { seen, at: night }).kind).toBe("patch");
    const removed = scheduled({ spec: { schedule: undefined }, status: { appliedEntry: "office" } });
    expect(planned(removed, { seen, at: night }).kind).toBe("patch");
    const drifted = scheduled({ status: { appliedEntry: "" } });
    expect(planned(drifted, { seen, at: night })).toMatchObject({ reason: "WaitingForWindow" });
  });

  test("an entry of the schedule counts as applied by what this term sent before any status says so", () => {
    const accepted = { endpointID: "ep-one", generation: 1, drift: [], entry: "office" };
    const seen = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 4 };
    expect(planned(scheduled(), { seen, state: { accepted } })).toMatchObject({ reason: "WaitingForWindow" });
  });

  test("the applied entry is unknown where the status was wiped: a difference waits", () => {
    const wiped = scheduled({ status: { appliedEntry: undefined, appliedGeneration: undefined } });
    expect(planned(wiped, { state: { idleAsked: 1 } })).toMatchObject({ reason: "WaitingForWindow" });
  });

  test("the applied entry was none where the status is from before there was a schedule", () => {
    const before = scheduled({ status: { appliedEntry: undefined } });
    expect(planned(before).kind).toBe("patch");
  });

  test("an entry of the schedule is sent again where the last PATCH was for another entry, though no list has shown that one", () => {
    const fields = ["computeUnits.min", "computeUnits.max"];
    const patched = {
      generation: 1,
      branchID: "br-main",
      entry: "night",
      fields,
      listsWithout: [],
      at: now - 10,
      tries: 0,
    };
    expect(planned(scheduled(), { state: { patched } }).kind).toBe("patch");
    const same = { ...patched, entry: "office" };
    expect(planned(scheduled(), { state: { patched: same } })).toMatchObject({ kind: "wait", reason: "Updating" });
  });
});

describe("with driftPolicy: Report", () => {
  const report = (spec: object, status: object = {}): ComputeFields => ({
    spec: { driftPolicy: "Report", ...spec },
    status: { appliedEntry: "", ...status },
  });

  test("what waits is sent in the window, and drift is not", () => {
    const waiting = report({ ...size, ...harmless }, { waiting: waitingSize });
    expect(planned(waiting)).toMatchObject({
      reason: "WaitingForWindow",
      waiting: waitingSize,
      drift: [{ field: "passwordlessAccess" }],
    });
    expect(planned(waiting, { at: sunday })).toMatchObject({
      kind: "patch",
      attributes: { autoscaling_limit_max_cu: 4 },
      fields: ["computeUnits.max"],
    });
    expect(planned(report(size), { at: sunday })).toMatchObject({ reason: "Drifted" });
    const other = report(size, { waiting: [{ field: "computeUnits.max", ours: "8" }] });
    expect(planned(other, { at: sunday })).toMatchObject({ reason: "Drifted" });
  });

  test("what this term knows to wait counts before any status says so", () => {
    const accepted = { endpointID: "ep-one", generation: 1, drift: [], entry: "", waiting: waitingSize };
    expect(planned(report(size), { at: sunday, state: { accepted } }).kind).toBe("patch");
  });

  test("another entry is sent for the fields that either names, and for no other", () => {
    const spec = { computeUnits: { min: 1, max: 2 }, schedule: [office], ...harmless };
    expect(planned(report(spec))).toMatchObject({ fields: ["computeUnits.min", "computeUnits.max"] });
    expect(planned(report(spec, { appliedEntry: "office" }))).toMatchObject({ reason: "Drifted" });
  });
});

test("a move that waits is not taken for a move by somebody else", () => {
  const moved = planned(edited({ branchID: "br-other" }), asked);
  expect(moved).toMatchObject({ reason: "WaitingForWindow", waiting: [{ field: "branchID", ours: "br-other" }] });
  const later = { spec: { branchID: "br-other" }, status: { waiting: [{ field: "branchID", ours: "br-other" }] } };
  expect(planned(later)).toMatchObject({ reason: "WaitingForWindow" });
  expect(planned(later, { at: sunday })).toMatchObject({ kind: "patch", progress: "Moving" });
});

test("without windows, and with anyTime, everything is sent at once", () => {
  expect(planned(edited({ ...size, disruption: undefined })).kind).toBe("patch");
  expect(planned(edited({ ...size, disruption: { anyTime: true } })).kind).toBe("patch");
});
