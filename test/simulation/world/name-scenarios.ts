import { isJsonObject, type JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Action, Timed } from "./actions.ts";
import type { Script } from "./run-script.ts";
import { branchesOf, projects } from "./service-seed.ts";

/** The share of runs in which Computes give the name of their branch; in half of them all do. */
const named = 0.35;

/**
 * Computes and pools give the name of their branch, and names go to other branches. Only where no id of a branch is
 * given may one be deleted, and another made that is called so. Whose endpoint a Compute with `adopt` may take depends
 * on ids, also on those of the moment it did: such Computes give the id.
 */
export function withBranchNames(script: Script): Script {
  const dice = new Dice(seededRandom(script.seed ^ 0x6a3e5));
  if (!dice.chance(named) || script.strictSpec === true || script.fleet !== undefined) return script;
  const allDo = dice.chance(0.5);
  const gives = new Map<string, boolean>();
  const givesName = (name: string) => {
    if (!gives.has(name)) gives.set(name, allDo || dice.chance(0.7));
    return gives.get(name) === true;
  };
  const actions = script.actions.map(({ atMs, action }): Timed => {
    if (action.do === "scale pool" && givesName(action.name))
      return { atMs, action: { ...action, template: byName(action.template) } };
    if (action.do !== "apply") return { atMs, action };
    const spec = allDo ? withoutAdopt(action.spec) : action.spec;
    const isNamed = givesName(action.name) && !adoptsPrimary(spec);
    return { atMs, action: { ...action, spec: isNamed ? byName(spec) : spec } };
  });
  const changes = Array.from({ length: dice.between(1, 6) }, (): Timed => {
    return { atMs: dice.between(5000, script.calmAtMs - 10_000), action: changeOf(dice, allDo) };
  });
  const followed = dice.chance(0.5) ? replicaWhoseNameMoves(script, dice) : [];
  return { ...script, actions: [...actions, ...changes, ...followed].toSorted((a, b) => a.atMs - b.atMs) };
}

/** A replica that nobody edits, and whose branch's name goes to another branch once it is there. */
function replicaWhoseNameMoves({ calmAtMs }: Script, dice: Dice): Timed[] {
  const project = dice.pick(projects);
  const [branch = "", name = ""] = branchesOf(project).toReversed();
  const driftPolicy = dice.pick(["Correct", "Report"]);
  const spec: JsonObject = { projectID: project, branchName: name, type: "read_only", driftPolicy };
  return [
    { atMs: dice.between(0, 10_000), action: { do: "apply", name: "named", spec } },
    { atMs: dice.between(calmAtMs / 2, calmAtMs - 10_000), action: { do: "name branch", project, branch, name } },
  ];
}

function changeOf(dice: Dice, mayDelete: boolean): Action {
  const project = dice.pick(projects);
  const [branch, name] = [dice.pick(branchesOf(project)), dice.pick(branchesOf(project))];
  return dice.weighted<Action>([
    [4, () => ({ do: "name branch", project, branch, name })],
    [1, () => ({ do: "name branch", project, branch, name: "another" })],
    [mayDelete ? 2 : 0, () => ({ do: "make branch again", project, name })],
  ]);
}

function byName({ branchID, ...spec }: JsonObject): JsonObject {
  return { ...spec, branchName: branchID };
}

function withoutAdopt(spec: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => field !== "adopt"));
}

function adoptsPrimary({ adopt }: JsonObject): boolean {
  return isJsonObject(adopt) && adopt["branchPrimary"] === true;
}
