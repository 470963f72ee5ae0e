import type { JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Timed } from "./actions.ts";
import type { Script } from "./run-script.ts";
import { branchesOf, projects } from "./service-seed.ts";

/** The share of runs at a service that runs the operations of a project side by side, and where it locks at random. */
const sideBySide = 0.35;
const lockingAtRandom = 0.1;
/** The share of runs in which most lists are older than the answers to earlier writes. */
const lagging = 0.1;
/** The share of runs in which many replicas, and primaries of one branch, are declared at once. */
const bursting = 0.15;

/** What kind of service a run meets, and how many writes at once; with dice of its own. */
export function withServiceOf(script: Script): Script {
  const dice = new Dice(seededRandom(script.seed ^ 0x10c4ed));
  const locked = withLock(script, dice);
  const lagged = dice.chance(lagging) ? withLaggingLists(locked, dice) : locked;
  return dice.chance(bursting) ? withBurst(lagged, dice) : lagged;
}

function withLock(script: Script, dice: Dice): Script {
  if (dice.chance(sideBySide)) return { ...script, lock: "endpoint" };
  return dice.chance(lockingAtRandom) ? { ...script, lock: 0.05 + 0.4 * dice.random() } : script;
}

/** Lists that are behind by less than the ten seconds between two of them that prove absence. */
function withLaggingLists(script: Script, dice: Dice): Script {
  const { rates } = script;
  const service = { ...rates.service, lag: 0.5 + 0.45 * dice.random() };
  return { ...script, rates: { ...rates, service, mostLagMs: dice.between(1000, 8000) } };
}

/** More at once than one write at a time can carry out soon; two primaries of one branch are among them. */
function withBurst(script: Script, dice: Dice): Script {
  const [project] = projects;
  const branch = dice.pick(branchesOf(project));
  const atMs = dice.between(1000, 20_000);
  const spec = (type: string): JsonObject => ({ projectID: project, branchID: branch, type });
  const declared = [
    ...Array.from({ length: dice.between(5, 15) }, (_, n) => ({ name: `burst-${n}`, spec: spec("read_only") })),
    ...["twin-a", "twin-b"].map((name) => ({ name, spec: spec("read_write") })),
  ];
  const actions = declared.map(
    (one): Timed => ({ atMs: atMs + dice.between(0, 300), action: { do: "apply", ...one } }),
  );
  return { ...script, actions: [...script.actions, ...actions].toSorted((a, b) => a.atMs - b.atMs) };
}
