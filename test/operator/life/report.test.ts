import { describe, expect, test } from "vitest";
import { branchReasons } from "../../../src/operator/branch/reasons.ts";
import { reasons } from "../../../src/operator/compute/words/reasons.ts";
import { type ConditionRow, rows, standingOf } from "../../../src/operator/conditions/rows.ts";
import { connectionReasons } from "../../../src/operator/connection/status.ts";
import { transition } from "../../../src/operator/life/report.ts";
import { poolReasons } from "../../../src/operator/pool/reasons.ts";

const table = {
  Rest: rows.settled,
  Idle: rows.settled,
  Progress: rows.inProgress,
  Trouble: rows.stalled,
  Other: rows.ended,
} as const satisfies Record<string, ConditionRow>;

type Told = Parameters<typeof transition>[3];

const change = (before: string | undefined, after: string, told: Partial<Told> = {}) =>
  transition(before, { kind: "shown", reason: after, message: `${after}.` }, table, { isAnnounced: false, ...told });

const announced = { isAnnounced: true };

describe("a change of reason", () => {
  test.each<[string | undefined, string, Partial<Told>, "Normal" | "Warning" | undefined]>([
    ["Rest", "Rest", {}, undefined],
    ["Rest", "Idle", {}, undefined],
    ["Progress", "Rest", {}, "Normal"],
    ["Progress", "Rest", announced, undefined],
    [undefined, "Rest", {}, "Normal"],
    [undefined, "Rest", announced, undefined],
    ["Trouble", "Rest", announced, "Normal"],
    ["Other", "Rest", announced, "Normal"],
    ["OfAnotherVersion", "Rest", announced, "Normal"],
    ["Rest", "Progress", {}, "Normal"],
    ["Rest", "Progress", announced, undefined],
    ["Rest", "Progress", { isQueued: true }, undefined],
    ["Rest", "Trouble", announced, "Warning"],
    ["Progress", "Trouble", { isQueued: true }, "Warning"],
    ["Trouble", "Trouble", {}, undefined],
    ["Rest", "Other", announced, "Normal"],
    ["Other", "Other", {}, undefined],
  ])("from %s to %s, told %j, makes the event: %s", (before, after, told, type) => {
    const expected = type === undefined ? undefined : { type, reason: after, message: `${after}.` };
    expect(change(before, after, told)).toEqual(expected);
  });

  test.each(["Trouble", "Created", "Reset"])("an event %s of the same reconcile says it already", (reason) => {
    const events = [{ type: "Normal", reason, message: "" }] as const;
    expect(change("Rest", "Trouble", { events })).toBeUndefined();
    expect(change("Rest", "Other", { events: [{ ...events[0], reason: "Patched" }] })).toBeDefined();
  });

  test.each([{ kind: "unchanged" }, { kind: "released" }] as const)("no event where nothing is shown: %j", (none) => {
    expect(transition("Rest", none, table, { isAnnounced: false })).toBeUndefined();
  });

  test("a message is clipped to what an event may hold", () => {
    const long = { kind: "shown", reason: "Trouble", message: "x".repeat(2000) } as const;
    const event = transition("Rest", long, table, { isAnnounced: false });
    expect(Buffer.byteLength(event?.message ?? "")).toBeLessThanOrEqual(1024);
  });
});

test("reason → standing, of every kind", () => {
  const standings = (all: Readonly<Record<string, ConditionRow>>) => {
    const by = new Map<string, string[]>();
    for (const [reason, row] of Object.entries(all)) {
      const standing = standingOf(row);
      by.set(standing, [...(by.get(standing) ?? []), reason]);
    }
    by.delete("trouble");
    return Object.fromEntries(by);
  };
  expect(standings(reasons)).toEqual({
    rest: ["Active", "Idle", "Disabled", "Observed"],
    progress: ["Creating", "Starting", "Updating", "Moving", "Restarting"],
    other: ["WaitingForWindow", "WaitingForTurn", "Deleting", "Expired", "Paused"],
  });
  expect(standings(branchReasons)).toEqual({
    rest: ["Available", "Observed"],
    progress: ["Creating", "Updating", "Resetting", "Deleting", "Paused"],
    other: ["Expired"],
  });
  expect(standings(poolReasons)).toEqual({ rest: ["Ready"], progress: ["Scaling"], other: ["Expired"] });
  expect(standings(connectionReasons)).toEqual({ rest: ["Authenticated"], progress: ["Deleting"] });
});
