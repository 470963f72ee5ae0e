import { computeSizes, randomFields } from "../../support/compute-fields.ts";
import type { JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Action, Timed } from "./actions.ts";
import { withBranches } from "./branch-scenarios.ts";
import { noFaults, type Rates } from "./fault-plan.ts";
import { withBranchNames } from "./name-scenarios.ts";
import { withEdges, withMore } from "./rare-scenarios.ts";
import type { Script } from "./run-script.ts";
import { withSecrets } from "./secret-scenarios.ts";
import { withServiceOf } from "./service-scenarios.ts";
import { branchesOf, projects } from "./service-seed.ts";
import { withTime } from "./time-scenarios.ts";

const names = ["c0", "c1", "c2", "c3", "c4", "c5"] as const;
/** Makes up a run: who does what when, and what goes wrong how often. */
export function scriptOf(seed: number): Script {
  return withSecrets(withTime(timelessScriptOf(seed)));
}

/** The same without schedules, windows and changing pools. */
export function timelessScriptOf(seed: number): Script {
  return withBranches(branchlessScriptOf(seed));
}

/** The same without Branches. */
export function branchlessScriptOf(seed: number): Script {
  return withBranchNames(withServiceOf(withEdges(evenScriptOf(seed))));
}

/** The same at a service that neither locks nor lags more than others, where no delay is aimed at a deadline. */
export function evenScriptOf(seed: number): Script {
  return withMore(plainScriptOf(seed));
}

/** The same without rare scenarios: uninstalling, shards, another service, and the like. */
export function plainScriptOf(seed: number): Script {
  const dice = new Dice(seededRandom(seed));
  const calmAtMs = dice.between(60_000, 240_000);
  const fleet = names.slice(0, dice.between(1, names.length + 1)).map((name) => newMember(dice, name));
  const actions: Timed[] = [];
  for (const member of fleet) {
    actions.push({
      atMs: dice.between(0, 20_000),
      action: { do: "apply", name: member.name, spec: specOf(dice, member) },
    });
  }
  const count = dice.between(4, 24);
  for (let index = 0; index < count; index++) {
    actions.push({ atMs: dice.between(5_000, calmAtMs - 10_000), action: randomAction(dice, fleet, index) });
  }
  return {
    seed,
    operators: dice.chance(0.25) ? 2 : 1,
    rates: ratesOf(dice),
    actions: actions.toSorted((a, b) => a.atMs - b.atMs),
    calmAtMs,
  };
}

/** What stays the same of a Compute, however often it is applied. */
export interface Member {
  name: string;
  project: string;
  type: "read_write" | "read_only";
  rest: JsonObject;
}

export function newMember(dice: Dice, name: string): Member {
  const project = dice.chance(0.8) ? projects[0] : projects[1];
  const type = dice.chance(0.55) ? "read_write" : "read_only";
  const adopt = type === "read_write" && dice.chance(0.3) ? { adopt: adoption(dice, project) } : {};
  return {
    name,
    project,
    type,
    rest: {
      ...adopt,
      ...(dice.chance(0.15) ? { deletionPolicy: "Retain" } : {}),
      ...(dice.chance(0.15) ? { driftPolicy: "Report" } : {}),
    },
  };
}

function adoption(dice: Dice, project: string): JsonObject {
  return dice.chance(0.5) ? { branchPrimary: true } : { endpointID: `ep-seed-${project.slice(-1)}` };
}

export function specOf(dice: Dice, { project, type, rest }: Member): JsonObject {
  const size = dice.pick(computeSizes);
  return {
    projectID: project,
    branchID: dice.pick(branchesOf(project)),
    type,
    ...rest,
    ...(dice.chance(0.6) ? { computeUnits: { min: size, max: dice.chance(0.5) ? size : 8 } } : {}),
    ...(dice.chance(0.3)
      ? { scaleToZero: dice.chance(0.5) ? { enabled: false } : { enabled: true, after: "10m" } }
      : {}),
    ...(dice.chance(0.2) ? { pooler: { enabled: dice.chance(0.5) } } : {}),
    ...(dice.chance(0.15) ? { disabled: dice.chance(0.5) } : {}),
    ...(dice.chance(0.2) ? { postgresSettings: { work_mem: dice.chance(0.5) ? "4MB" : "8MB" } } : {}),
    ...randomFields(dice, 0.15),
  };
}

function randomAction(dice: Dice, fleet: readonly Member[], index: number): Action {
  const member = dice.pick(fleet);
  const { name } = member;
  const nth = dice.between(0, 12);
  return dice.weighted<Action>([
    [10, () => ({ do: "apply", name, spec: specOf(dice, member) })],
    [2, () => ({ do: "replace", name })],
    [5, () => ({ do: "delete", name })],
    [1, () => ({ do: "drop finalizers", name })],
    [5, () => ({ do: "annotate", name, key: "restartedAt", value: `restart-${index}` })],
    [2, () => ({ do: "annotate", name, key: "paused", value: dice.chance(0.5) ? "true" : null })],
    [1, () => ({ do: "annotate", name, key: "reconcileRequestedAt", value: `look-${index}` })],
    [1, () => ({ do: "wipe status", name })],
    [1, () => ({ do: "copy", from: name, to: `copy-${index}` })],
    [2, () => ({ do: "rotate key", revokeAfterMs: dice.between(0, 30_000) })],
    [1, () => ({ do: "revoke key", mendAfterMs: dice.between(1000, 60_000) })],
    [4, () => ({ do: "change endpoint", nth, body: changeOf(dice) })],
    [3, () => ({ do: "delete endpoint", nth })],
    [
      1,
      () => ({
        do: "create endpoint",
        project: member.project,
        branch: dice.pick(branchesOf(member.project)),
        type: member.type,
      }),
    ],
    [2, () => ({ do: "connect", nth })],
    [5, () => ({ do: "kill", downMs: dice.between(10, 20_000) })],
    [2, () => ({ do: "pause", ms: dice.between(1000, 40_000), slept: dice.chance(0.5) })],
    [2, () => ({ do: "cut watches" })],
    [2, () => ({ do: "forget history" })],
    [2, () => ({ do: "service down", ms: dice.between(1000, 60_000) })],
    [2, () => ({ do: "hide endpoints", ms: dice.between(5000, 60_000) })],
    [2, () => ({ do: "cluster down", ms: dice.between(500, 20_000) })],
    [1, () => ({ do: "step clock", ms: dice.between(-3_600_000, 3_600_000) })],
  ]);
}

export function changeOf(dice: Dice): JsonObject {
  const size = dice.pick(computeSizes);
  return dice.weighted<JsonObject>([
    [3, () => ({ autoscaling_limit_min_cu: size, autoscaling_limit_max_cu: size })],
    [1, () => ({ pooler_enabled: dice.chance(0.5) })],
    [1, () => ({ disabled: dice.chance(0.5) })],
    [1, () => ({ settings: { pg_settings: { work_mem: "16MB", theirs: "on" } } })],
    [1, () => ({ suspend_timeout_seconds: dice.chance(0.5) ? -1 : 600 })],
  ]);
}

/** A third of all runs are nearly calm, so that users' actions are also tried without faults. */
function ratesOf(dice: Dice): Rates {
  if (dice.chance(0.3)) return noFaults;
  const upTo = (most: number) => (dice.chance(0.5) ? 0 : dice.random() * most);
  return {
    service: {
      refused: upTo(0.1),
      lost: upTo(0.25),
      late: upTo(0.2),
      beyond: dice.chance(0.1) ? upTo(0.2) : 0,
      status: upTo(0.2),
      broken: upTo(0.2),
      cut: upTo(0.1),
      lag: upTo(0.3),
    },
    cluster: {
      refused: upTo(0.05),
      lost: upTo(0.1),
      status: upTo(0.1),
      cutWatch: upTo(0.02),
      lag: upTo(0.2),
      slow: 0,
      late: 0,
    },
    slowLease: 0,
    edges: 0,
    slowestMs: dice.between(20, 2000),
    slowestLineMs: dice.between(20, 8000),
    mostLagMs: dice.between(200, 8000),
  };
}
