import { isJsonObject, type JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Action, Timed } from "./actions.ts";
import type { Script } from "./run-script.ts";
import { branchesOf, projects } from "./service-seed.ts";

/** The share of runs with Branches. */
const share = 0.3;

/** The last seed with Branches: so many were played since there are any. */
const lastSeed = 400;

/** Where these happen, Branches would be made at another service, or their note would name another fleet. */
const withoutBranches: readonly Action["do"][] = ["edit base URL", "rename fleet"];

/**
 * Users declare some Branches, edit, reset, pause and delete them; people give their branches other ends, protection
 * and names at the service, start branches from them and delete them. Not where the service lists no branches.
 */
export function withBranches(script: Script): Script {
  const dice = new Dice(seededRandom(script.seed ^ 0xb4a2c5));
  const { strictSpec, actions } = script;
  if (script.seed > lastSeed || !dice.chance(share) || strictSpec === true) return script;
  if (actions.some(({ action }) => withoutBranches.includes(action.do))) return script;
  const members = ["b0", "b1", "b2", "b3"].slice(0, dice.between(1, 5)).map((name) => newMember(dice, name, script));
  const made = members.map((member): Timed => ({ atMs: dice.between(0, 20_000), action: applied(dice, member, 0) }));
  const changes = Array.from({ length: dice.between(2, 14) }, (_, index): Timed => {
    const action = changeOf(dice, dice.pick(members), index);
    return { atMs: dice.between(5000, script.calmAtMs - 10_000), action };
  });
  return { ...script, actions: [...actions, ...made, ...changes].toSorted((a, b) => a.atMs - b.atMs) };
}

/** The lasting part of a Branch, however often it is applied. */
interface Member {
  name: string;
  rest: JsonObject;
  adopts: boolean;
}

function newMember(dice: Dice, name: string, { fleet }: Script): Member {
  const project = dice.chance(0.8) ? projects[0] : projects[1];
  const parent = dice.pick(branchesOf(project));
  const size = dice.pick([0.25, 1, 2]);
  const compute = {
    computeUnits: { min: size, max: size },
    ...(dice.chance(0.5) ? {} : { scaleToZero: { enabled: false } }),
  };
  return {
    name,
    adopts: fleet !== undefined && dice.chance(0.8),
    rest: {
      projectID: project,
      ...(dice.chance(0.3) ? { parent: { branchID: parent } } : {}),
      // The endpoints of a cluster that is lost are taken over only if all of a Compute's spec says so.
      ...(fleet === undefined && dice.chance(0.4) ? { compute } : {}),
    },
  };
}

/** The manifest at a time. An object that is made again names another branch: a deleted one keeps its name. */
function applied(dice: Dice, { name, rest, adopts }: Member, index: number): Action {
  const expiry = dice.weighted<JsonObject>([
    [3, () => ({ after: "72h" })],
    [1, () => ({ after: "10m" })],
    [2, () => ({ lease: "24h" })],
    [3, () => ({ lease: "10m" })],
    [1, () => ({ at: "2026-01-05T00:00:00Z" })],
    [2, () => ({ never: true })],
  ]);
  const isEndless = isJsonObject(expiry) && expiry["never"] === true;
  const spec: JsonObject = {
    ...rest,
    branchName: `preview/${name}${adopts ? "" : `-${index}`}`,
    expiry,
    ...(adopts ? { adopt: { former: true } } : {}),
    ...(isEndless && dice.chance(0.3) ? { protected: dice.chance(0.5) } : {}),
    ...(dice.chance(0.15) ? { deletionPolicy: "Retain" } : {}),
  };
  return { do: "apply branch", name, spec };
}

function changeOf(dice: Dice, member: Member, index: number): Action {
  const { name } = member;
  const nth = dice.between(0, 12);
  return dice.weighted<Action>([
    [6, () => applied(dice, member, index + 1)],
    [4, () => ({ do: "delete branch", name })],
    [5, () => ({ do: "annotate branch", name, key: "resetAt", value: `reset-${index}` })],
    [2, () => ({ do: "annotate branch", name, key: "paused", value: dice.chance(0.5) ? "true" : null })],
    [3, () => ({ do: "end branch", nth, inMs: dice.chance(0.3) ? null : dice.between(100_000_000, 200_000_000) })],
    [1, () => ({ do: "end branch", nth, inMs: dice.between(30_000, 300_000) })],
    [2, () => ({ do: "change branch", nth, body: { protected: dice.chance(0.5) } })],
    [1, () => ({ do: "change branch", nth, body: { name: `renamed-${index}` } })],
    [1, () => ({ do: "remove branch", nth })],
    [2, () => ({ do: "branch off", nth, name: `child-${index}` })],
  ]);
}
