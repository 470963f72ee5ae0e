import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { compute } from "./manifests.ts";
import { isCurrent, isTrue, type KillStroke, Moments } from "./moments.ts";
import type { Play } from "./referee.ts";
import { sharedCluster } from "./shared-cluster.ts";

// A strict referee between operator and service. A write that cuts connections is a fault unless a window is open by
// the service's clock, or the last list, at most five seconds old, showed the compute suspended or disabled.

const strokes: readonly KillStroke[] = [
  "arrival of the write",
  "answer of the write",
  "arrival of the status",
  "answer of the status",
];
const merged = strokes.map((_, index) => `merged-${index}`);
const others = ["idle", "drifted", "dated", "ended", "scheduled", "free"];
const branchOf = (name: string) => `br-${name}`;

const hour = 3_600_000;
const small = { computeUnits: { min: 1, max: 2 }, scaleToZero: { enabled: true, after: "24h" } };
const large = { computeUnits: { min: 2, max: 8 } };
/** By the connection, for all: Sundays from 02:00 to 05:00 in Berlin, in June from 00:00Z to 03:00Z. */
const windows = [{ timeZone: "Europe/Berlin", days: ["Sun"], from: "02:00", to: "05:00" }];
const [opens, closes] = [Date.parse("2026-06-07T00:00:00Z"), Date.parse("2026-06-07T03:00:00Z")];

let stage: Moments;
const idOf = new Map<string, string>();

beforeAll(async () => {
  const branches = [...merged, ...others, "readers"].map(branchOf);
  stage = await Moments.start(sharedCluster(), { branches, spec: { disruption: { windows } } });
  stage.referee.show("2026-06-04T12:00:00Z");
  const schedule = [{ name: "rush", from: "12:50", to: "13:50", computeUnits: { min: 4, max: 4 } }];
  const specOf = (name: string) => {
    const more = { scheduled: { schedule }, free: { disruption: { anyTime: true } } }[name];
    return { projectID: "shop", branchID: branchOf(name), ...small, ...more };
  };
  const names = [...merged, ...others];
  await Promise.all(names.map((name) => stage.create(compute(name, specOf(name)))));
  for (const name of names) idOf.set(name, (await stage.ready(name)).status.endpointID ?? "");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

function isAllowed({ at, shown, shownAgeMs }: Play): boolean {
  if (at >= opens && at < closes) return true;
  const isSeen = shown?.pending_state === undefined && (shown?.current_state === "idle" || shown?.disabled === true);
  return isSeen && shownAgeMs <= 5000;
}

/** The writes that cut connections of these computes and may not, in words. */
function faults(names: readonly string[] = [...merged, ...others]): string[] {
  const ids = names.map((name) => idOf.get(name));
  return stage.referee.cuts
    .filter((play) => ids.includes(play.endpointID) && !isAllowed(play))
    .map(({ at, path, sent }) => `${new Date(at).toISOString()} ${path} ${JSON.stringify(sent)}`);
}

/** Those that the service carried out: with 423 it says that it did nothing. */
const cutsOf = (name: string) =>
  stage.referee.cuts.filter(({ endpointID, status }) => endpointID === idOf.get(name) && status !== 423);
const held = ["merged-0", "merged-1", "merged-2", "merged-3", "drifted", "ended"];

describe("a merge at noon, before a strict referee", () => {
  it.each(strokes.map((stroke, index) => [stroke, merged[index] ?? ""] as const))(
    "a merge sends what cuts nothing and keeps the rest, though the operator is killed at the %s",
    async (stroke, name) => {
      const isOurs = ({ endpointID }: Play) => endpointID === idOf.get(name);
      const killed = stage.killAt(stroke, isOurs);
      await stage.edit(name, {
        ...large,
        postgresSettings: { work_mem: "8MB" },
        passwordlessAccess: false,
        scaleToZero: { enabled: true, after: "48h" },
      });
      await killed;
      const { status } = await stage.reason(name, "WaitingForWindow");
      expect(status.waiting?.map(({ field }) => field)).toEqual([
        "computeUnits.min",
        "computeUnits.max",
        "postgresSettings",
      ]);
      expect(status.nextWindow).toBe("2026-06-07T00:00:00Z");
      expect(stage.referee.plays.filter(isOurs).map(({ sent }) => sent)).toEqual([
        { passwordless_access: false, suspend_timeout_seconds: 172_800 },
      ]);
    },
  );

  it("drift and an edit under a date that is over wait, and what may go goes", async () => {
    const at = (ms: number) => new Date(stage.referee.now + ms).toISOString();
    await stage.annotate("ended", "disruptionUntil", at(-1000));
    await stage.annotate("dated", "disruptionUntil", at(hour / 2));
    await stage.atService("POST", `/projects/shop/endpoints/${idOf.get("idle")}/suspend`);
    const drift = { endpoint: { autoscaling_limit_max_cu: 3 } };
    await stage.atService("PATCH", `/projects/shop/endpoints/${idOf.get("drifted")}`, drift);
    for (const name of ["ended", "dated", "idle", "free"]) await stage.edit(name, large);
    await Promise.all(["dated", "idle", "free"].map((name) => stage.ready(name)));
    await Promise.all(["ended", "drifted"].map((name) => stage.reason(name, "WaitingForWindow")));
    expect(faults([...held, "idle"])).toEqual([]);
    expect(["dated", "idle", "free"].map((name) => cutsOf(name).length)).toEqual([1, 1, 1]);
  });

  it("a merge waits while clocks jump and lists are old", async () => {
    const { child } = stage.operator;
    child.signal("SIGUSR2");
    await stage.lists(2);
    for (const _ of [1, 2]) child.signal("SIGHUP");
    await stage.lists(2);
    child.signal("SIGUSR2");
    stage.referee.lagMs = 9000;
    await stage.lists(2);
    stage.referee.lagMs = undefined;
    expect(cutsOf("scheduled")).toEqual([]);
    stage.referee.jump(hour);
    await stage.until("scheduled", "its entry", ({ status }) => status.appliedEntry === "rush");
    stage.referee.jump(-hour);
    await stage.until("scheduled", "no entry", ({ status }) => status.appliedEntry === "");
    expect(cutsOf("scheduled").map(({ sent }) => sent["autoscaling_limit_max_cu"])).toEqual([4, 2]);
    expect(faults(held)).toEqual([]);
  });

  it("what waits is sent once when the window opens, not before, though the operator is killed at the answer", async () => {
    stage.referee.show("2026-06-06T23:59:52Z");
    await stage.killAt("answer of the write", ({ cuts }) => cuts);
    await Promise.all(held.map((name) => stage.ready(name)));
    expect(faults(held)).toEqual([]);
    expect(held.map((name) => cutsOf(name).length)).toEqual(held.map(() => 1));
    for (const name of merged) {
      expect(await stage.get("Compute", name)).toMatchObject({ status: { size: "2–8 CU" } });
    }
  });
});

const numbers = [0, 1, 2, 3];
const pool = {
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "ComputePool",
  metadata: { name: "readers" },
  spec: {
    replicas: numbers.length,
    template: {
      projectID: "shop",
      branchID: branchOf("readers"),
      computeUnits: { min: 1, max: 1 },
      scaleToZero: { enabled: false },
      disruption: { anyTime: true },
    },
  },
};
const isOfReaders = ({ endpointID, cuts }: Play) =>
  cuts && numbers.some((number) => idOf.get(`readers-${number}`) === endpointID);

/** The members that are changing at the service when a write arrives, its own included; for each write carried out. */
function unavailable(): number[] {
  return stage.referee.plays
    .filter((play) => isOfReaders(play) && play.status !== 423)
    .map(({ busy }) => busy.length + 1);
}

describe("a pool, before a strict referee", () => {
  beforeAll(async () => {
    await stage.create(pool);
    for (const name of numbers.map((number) => `readers-${number}`)) {
      await eventually(name, () => stage.get("Compute", name));
      idOf.set(name, (await stage.ready(name)).status.endpointID ?? "");
    }
    await stage.until("readers", "all members", (seen) => isTrue(seen, "Ready") && isCurrent(seen), "ComputePool");
    stage.referee.clear();
  });

  it("a pool changes its members one after another, each once, though the operator is killed at each stroke", async () => {
    await stage.edit("readers", { template: { computeUnits: { min: 2, max: 2 } } }, "ComputePool");
    for (const stroke of strokes.slice(1)) await stage.killAt(stroke, isOfReaders);
    for (const number of numbers) {
      await stage.until(
        `readers-${number}`,
        "its size",
        (seen) => seen.status["size"] === "2 CU" && isTrue(seen, "Ready"),
      );
    }
    expect(unavailable()).toEqual([1, 1, 1, 1]);
  });

  it("a pool restarts its members, two at a time, each once, though the operator is killed", async () => {
    stage.referee.clear();
    await stage.edit("readers", { maxUnavailable: 2 }, "ComputePool");
    await stage.annotate("readers", "restartedAt", "now", "ComputePool");
    await stage.killAt("answer of the write", isOfReaders);
    await stage.until("readers", "its restart", ({ status }) => status.restartedAt === "now", "ComputePool");
    expect(unavailable()).toHaveLength(numbers.length);
    expect(Math.max(...unavailable())).toBeLessThanOrEqual(2);
  });
});
