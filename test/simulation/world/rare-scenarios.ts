import type { JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Action, Timed } from "./actions.ts";
import { noFaults } from "./fault-plan.ts";
import type { Script } from "./run-script.ts";
import { branchesOf, projects } from "./service-seed.ts";

/** Something that affects some runs only, each with its own random numbers, so that it changes only what it adds. */
interface Seldom {
  /** The share of runs that it affects, 0 to 1. */
  share: number;
  add: (script: Script, dice: Dice) => Script;
}

const kinds: readonly Seldom[] = [
  { share: 0.15, add: withPool },
  { share: 0.1, add: withLateCreates },
  { share: 0.08, add: withStrangersKey },
  { share: 0.12, add: withShards },
  { share: 0.12, add: withStrictSpec },
  { share: 0.1, add: withAnotherService },
  { share: 0.08, add: withNamespaceDeleted },
  { share: 0.08, add: withCRDsDeleted },
  { share: 0.08, add: withTightBrake },
  { share: 1, add: withEditedReplicas },
  { share: 0.15, add: withSharedKey },
  { share: 0.25, add: withFleet },
  { share: 0.1, add: withObservers },
];

/** Adds a rare scenario to three runs in five. */
export function withMore(script: Script): Script {
  return kinds.reduce((more, { share, add }, index) => {
    const dice = new Dice(seededRandom(script.seed ^ (0x5e1d00 + index)));
    return dice.chance(share) ? add(more, dice) : more;
  }, script);
}

/** Has delays end at deadlines in every second run, and the API server slow; the dice are their own again. */
export function withEdges(script: Script): Script {
  const dice = new Dice(seededRandom(script.seed ^ 0x0ed6e5));
  if (dice.chance(0.5)) return script;
  const { rates } = script;
  const service = { ...rates.service, late: dice.chance(0.5) ? rates.service.late : 0.1 + 0.3 * dice.random() };
  const upTo = (most: number) => (dice.chance(0.3) ? 0 : dice.random() * most);
  const cluster = { ...rates.cluster, slow: upTo(0.2), late: upTo(0.1) };
  const slowLease = dice.chance(0.5) ? 0.9 * dice.random() : 0;
  const aimed = {
    ...script,
    ...(dice.chance(0.4) ? { refreshMs: 5000 } : {}),
    rates: { ...rates, service, cluster, slowLease, edges: 0.05 + 0.4 * dice.random() },
  };
  return dice.chance(0.6) ? withHeldCreates(aimed, dice) : aimed;
}

/** What takes an operator, or its way to the service, out of a wait. */
const interruptions: readonly Action["do"][] = [
  "kill",
  "pause",
  "service down",
  "cluster down",
  "hide endpoints",
  "rotate key",
  "revoke key",
  "give a stranger's key",
  "unselect namespace",
  "edit base URL",
  "delete namespace",
  "delete CRDs",
];

/** Replicas whose creates arrive right before `--create-settle` is over; nothing interrupts the operator's wait. */
function withHeldCreates(script: Script, dice: Dice): Script {
  const [project] = projects;
  const [branchID] = branchesOf(project);
  const spec: JsonObject = { projectID: project, branchID, type: "read_only" };
  const held = Array.from({ length: dice.between(3, 7) }, (_, index): Timed => {
    return { atMs: dice.between(0, 20_000), action: { do: "apply", name: `held-${index}`, spec } };
  });
  const calmAtMs = Math.max(script.calmAtMs, 120_000);
  const service = { ...noFaults.service, late: 0.6 + 0.3 * dice.random() };
  const { slow, late } = script.rates.cluster;
  const cluster = { ...noFaults.cluster, slow, late };
  const { slowLease } = script.rates;
  const rates = { ...noFaults, service, cluster, slowLease, slowestMs: dice.between(20, 1000), edges: 0.5 };
  const actions = script.actions.filter(({ action }) => !interruptions.includes(action.do));
  return withActions({ ...script, actions, calmAtMs, rates }, held);
}

function withActions(script: Script, actions: readonly Timed[]): Script {
  return { ...script, actions: [...script.actions, ...actions].toSorted((a, b) => a.atMs - b.atMs) };
}

/** A time at which something may still be added, in milliseconds. */
function sometime(script: Script, dice: Dice): number {
  return dice.between(5000, script.calmAtMs - 10_000);
}

function withPool(script: Script, dice: Dice): Script {
  const project = dice.pick(projects);
  const template: JsonObject = {
    projectID: project,
    branchID: dice.pick(branchesOf(project)),
    ...(dice.chance(0.3) ? { deletionPolicy: "Retain" } : {}),
    ...(dice.chance(0.5) ? { computeUnits: { min: 0.25, max: 1 } } : {}),
  };
  const scale = (): Action => ({ do: "scale pool", name: "pool", replicas: dice.between(0, 5), template });
  const changes = Array.from(
    { length: dice.between(1, 6) },
    (): Action =>
      dice.weighted<Action>([
        [8, scale],
        [2, () => ({ do: "delete", name: `pool-${dice.between(0, 4)}` })],
        [1, () => ({ do: "delete pool", name: "pool" })],
      ]),
  );
  return withActions(script, [
    { atMs: dice.between(0, 20_000), action: scale() },
    ...changes.map((action) => ({ atMs: sometime(script, dice), action })),
  ]);
}

/** If there is a pool, users edit its replicas: no template disables one, so nothing of that may be sent. */
function withEditedReplicas(script: Script, dice: Dice): Script {
  if (!script.actions.some(({ action }) => action.do === "scale pool")) return script;
  const edits = Array.from(
    { length: dice.between(1, 4) },
    (): Timed => ({
      atMs: sometime(script, dice),
      action: { do: "edit replica", name: `pool-${dice.between(0, 3)}` },
    }),
  );
  return withActions(script, edits);
}

/** Creates that arrive after `--create-settle`, when another was already sent: the second must be found and removed. */
function withLateCreates(script: Script, dice: Dice): Script {
  const { rates } = script;
  const service = { ...rates.service, beyond: 0.2 + 0.5 * dice.random() };
  const project = projects[0];
  const replica = (): Action => ({
    do: "apply",
    name: `late-${dice.between(0, 3)}`,
    spec: { projectID: project, branchID: branchesOf(project)[0], type: "read_only" },
  });
  return withActions({ ...script, rates: { ...rates, service } }, [
    { atMs: dice.between(0, 20_000), action: replica() },
    { atMs: sometime(script, dice), action: replica() },
  ]);
}

/** All go through a ClusterServiceConnection; in every second such run the namespace is without access for a while. */
function withSharedKey(script: Script, dice: Dice): Script {
  const shared = { ...script, shared: true as const };
  if (dice.chance(0.5)) return shared;
  const backAfterMs = dice.between(5000, 90_000);
  return withActions(shared, [{ atMs: sometime(script, dice), action: { do: "unselect namespace", backAfterMs } }]);
}

/** What makes others of the Computes, or shows less of them, than a cluster that is lost. */
const notInFleets: readonly Action["do"][] = ["edit base URL", "unselect namespace", "delete namespace", "delete CRDs"];

/**
 * Operators run with `--fleet`, and most Computes ask for what their former ones made. Where nothing else takes the
 * Computes away, the cluster is lost once or twice, and the fleet may get another name.
 */
function withFleet(script: Script, dice: Dice): Script {
  const { shards, strictSpec, actions } = script;
  if (shards === true || strictSpec === true || actions.some(({ action }) => notInFleets.includes(action.do)))
    return script;
  const asks = new Map<string, boolean>();
  const asking = (name: string) => {
    if (!asks.has(name)) asks.set(name, dice.chance(0.8));
    return asks.get(name) === true;
  };
  const former = { former: true };
  const inFleet = actions.map(({ atMs, action }): Timed => {
    if (action.do !== "apply" || action.spec["adopt"] !== undefined || !asking(action.name)) return { atMs, action };
    return { atMs, action: { ...action, spec: { ...action.spec, adopt: former } } };
  });
  const downMs = () => dice.between(10, 20_000);
  const losses = Array.from({ length: dice.pick([0, 1, 1, 2]) }, (): Timed => {
    return { atMs: sometime(script, dice), action: { do: "lose cluster", downMs: downMs() } };
  });
  const renamed = Array.from({ length: dice.pick([0, 0, 1]) }, (): Timed => {
    return { atMs: sometime(script, dice), action: { do: "rename fleet", fleet: "live", downMs: downMs() } };
  });
  return withActions({ ...script, actions: inFleet, fleet: "prod" }, [...losses, ...renamed]);
}

function withStrangersKey(script: Script, dice: Dice): Script {
  return withActions(script, [
    { atMs: sometime(script, dice), action: { do: "give a stranger's key", mendAfterMs: dice.between(5000, 60_000) } },
  ]);
}

function withShards(script: Script, dice: Dice): Script {
  const names = new Set(script.actions.flatMap(({ action }) => (action.do === "apply" ? [action.name] : [])));
  const relabelled = (early: boolean): Timed[] =>
    [...names].flatMap((name) =>
      dice.chance(early ? 0.5 : 0.4)
        ? [
            {
              atMs: early ? 20_001 : sometime(script, dice),
              action: { do: "label", name, shard: dice.pick(["a", "b", null]) },
            },
          ]
        : [],
    );
  return withActions({ ...script, operators: 1, shards: true }, [
    ...relabelled(true),
    ...relabelled(false),
    ...relabelled(false),
  ]);
}

/** If no name is shown, a new endpoint of a stranger looks like one of a lost create: none is created. */
/** Computes that only observe what others have, and may hinder nobody. */
function withObservers(script: Script, dice: Dice): Script {
  const observers = Array.from({ length: dice.between(1, 4) }, (_, index): Timed => {
    const project = dice.pick(projects);
    const adopt: JsonObject = dice.chance(0.5)
      ? { branchPrimary: true }
      : { endpointID: `ep-seed-${project.slice(-1)}` };
    const branchID = dice.pick(branchesOf(project));
    const type = "read_write";
    const size = { computeUnits: { min: 1, max: 2 } };
    const spec: JsonObject = { projectID: project, branchID, type, adopt, ...size, managementPolicy: "Observe" };
    return { atMs: dice.between(0, 60_000), action: { do: "apply", name: `observer-${index}`, spec } };
  });
  return withActions(script, observers);
}

function withStrictSpec(script: Script): Script {
  return {
    ...script,
    strictSpec: true,
    actions: script.actions.filter(({ action }) => action.do !== "create endpoint"),
  };
}

/** The base URL of the connection is edited to a service that has the same projects and none of the endpoints. */
function withAnotherService(script: Script, dice: Dice): Script {
  return withActions(script, [
    { atMs: sometime(script, dice), action: { do: "edit base URL", backAfterMs: dice.between(5000, 90_000) } },
  ]);
}

function withNamespaceDeleted(script: Script, dice: Dice): Script {
  return withActions(script, [{ atMs: sometime(script, dice), action: { do: "delete namespace" } }]);
}

function withCRDsDeleted(script: Script, dice: Dice): Script {
  return withActions(script, [{ atMs: sometime(script, dice), action: { do: "delete CRDs", all: dice.chance(0.4) } }]);
}

/** A brake on deletions that is felt: of several replicas that are deleted at once. */
function withTightBrake(script: Script, dice: Dice): Script {
  const [project] = projects;
  const [branchID] = branchesOf(project);
  const names = Array.from({ length: dice.between(3, 7) }, (_, index) => `brake-${index}`);
  const spec: JsonObject = { projectID: project, branchID, type: "read_only" };
  const atMs = sometime(script, dice);
  return withActions({ ...script, maxDeletesPerMinute: dice.between(1, 4) }, [
    ...names.map((name): Timed => ({ atMs: dice.between(0, 20_000), action: { do: "apply", name, spec } })),
    ...names.map((name): Timed => ({ atMs: Math.max(atMs, 20_001), action: { do: "delete", name } })),
  ]);
}
