import type { JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Action, Timed } from "./actions.ts";
import type { Script } from "./run-script.ts";
import { branchesOf, projects } from "./service-seed.ts";

const minuteMs = 60_000;

/** The share of runs with schedules, windows and pools whose template changes. */
const share = 0.25;

/** What was down when the faults stop has recovered this long after; then a boundary is kept within a refresh. */
const recoveredMs = 90_000;

/** Where these happen, a Compute has another history than its name, or nobody keeps it. */
const without: readonly Action["do"][] = ["edit base URL", "delete CRDs", "delete namespace", "unselect namespace"];

/**
 * Some Computes get windows, some an entry of a schedule or two, and a pool's template changes and restarts its
 * members, all from dice of their own. Times of the day have whole minutes, of which a run lasts some: from the last
 * boundary on, which comes once the faults are over, a window stays open and no entry is in force.
 */
export function withTime(script: Script): Script {
  const dice = new Dice(seededRandom(script.seed ^ 0x71e0a5));
  const { actions, calmAtMs, strictSpec } = script;
  if (!dice.chance(share) || strictSpec === true || actions.some(({ action }) => without.includes(action.do)))
    return script;
  const last = Math.ceil((calmAtMs + recoveredMs) / minuteMs);
  const names = new Set(actions.flatMap(({ action }) => (action.do === "apply" ? [action.name] : [])));
  const timed = new Map([...names].map((name) => [name, timesOf(dice, last)]));
  const changed = actions.map(({ atMs, action }): Timed => {
    if (action.do !== "apply") return { atMs, action };
    return { atMs, action: { ...action, spec: { ...action.spec, ...timed.get(action.name) } } };
  });
  const all = [...changed, ...rolls(dice, script)].toSorted((a, b) => a.atMs - b.atMs);
  return { ...script, actions: all, boundaryAtMs: last * minuteMs };
}

/** The fields of time of one Compute, which stay the same however often it is applied. */
function timesOf(dice: Dice, last: number): JsonObject {
  const windows = [
    ...Array.from({ length: dice.between(0, 2) }, () => spanOf(dice, last)),
    { from: clockAt(last), to: "23:00" },
  ];
  const schedule = Array.from({ length: dice.between(1, 3) }, (_, index): JsonObject => {
    const size = dice.pick([0.25, 1, 4]);
    const entry = { name: `entry-${index}`, ...spanOf(dice, last), computeUnits: { min: size, max: size } };
    // Of each Compute one entry ends with the last boundary.
    return index === 0 ? { ...entry, to: clockAt(last) } : entry;
  });
  return {
    ...(dice.chance(0.6) ? { disruption: { windows } } : {}),
    ...(dice.chance(0.5) ? { schedule } : {}),
  };
}

/** Some whole minutes of the run before the last boundary. */
function spanOf(dice: Dice, last: number): { from: string; to: string } {
  const from = dice.between(0, last);
  return { from: clockAt(from), to: clockAt(dice.between(from + 1, last + 1)) };
}

/** The time of the day so many minutes after the start of a run, in UTC: a run begins at midnight. */
function clockAt(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

/** A pool, and changes of its template or restarts of all its members. */
function rolls(dice: Dice, { actions, calmAtMs }: Script): Timed[] {
  if (dice.chance(0.4)) return [];
  const project = dice.pick(projects);
  const template = { projectID: project, branchID: dice.pick(branchesOf(project)), computeUnits: { min: 1, max: 1 } };
  const isThere = actions.some(({ action }) => action.do === "scale pool");
  const make: Timed[] = isThere
    ? []
    : [
        {
          atMs: dice.between(0, 10_000),
          action: { do: "scale pool", name: "pool", replicas: dice.between(2, 5), template },
        },
      ];
  const changes = Array.from({ length: dice.between(1, 4) }, (_, index): Timed => {
    const size = dice.pick([0.25, 0.5, 2, 4]);
    const action: Action = dice.chance(0.7)
      ? { do: "resize pool", name: "pool", computeUnits: { min: size, max: size } }
      : { do: "restart pool", name: "pool", value: `pool-${index}` };
    return { atMs: dice.between(20_000, calmAtMs), action };
  });
  return [...make, ...changes];
}
