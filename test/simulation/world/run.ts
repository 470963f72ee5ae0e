import type { Branch } from "../../../src/service/store/branches.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import type { KubeObject } from "../api-server/objects.ts";
import { inWords } from "./actions.ts";
import { type BranchScene, branchComplaints, isUsable } from "./branch-judge.ts";
import { onNamedBranch } from "./branch-names.ts";
import { annotationOf, conditionOf, isDeleting, recordOf, specOf, statusOf, uidInSignature } from "./computes.ts";
import type { CrashPoint } from "./crash-point.ts";
import { noFaults } from "./fault-plan.ts";
import { complaints, isUndecidable, isYetToStall, type Scene } from "./judge.ts";
import { observerComplaints } from "./observers.ts";
import { perform } from "./perform.ts";
import { type Violation } from "./records.ts";
import type { Script } from "./run-script.ts";
import type { ServiceHost } from "./service-host.ts";
import { untrueConnections, untruths } from "./status-checker.ts";
import { serviceURL } from "./workload.ts";
import { type Plant, World } from "./world.ts";

/** How a run went. */
export interface RunResult {
  violations: readonly Violation[];
  /** Requests of operators to the service and to the API server. */
  steps: number;
  faults: ReadonlyMap<string, number>;
  /** What happened last, in words. */
  history: () => readonly string[];
}

export interface RunOptions {
  crashPoint?: CrashPoint;
  plant?: Plant;
  /** Called when the script is over and everything is to come to rest. */
  onCalm?: () => void;
  /** Called when all is well, before it is watched that all stays so. */
  onRest?: () => void;
  /** Called with the world as it is at the end, before it is closed. */
  onEnd?: (world: World) => void;
}

/** How long it may take until all is well once faults have stopped, besides what the deletion brake holds back. */
const wellWithinMs = 5 * 60_000;
const lookEveryMs = 5_000;
/** Changes of a project go one after another, and some Computes have theirs at one boundary. */
const bringsWithinMs = 30_000;
/** What the service does automatically is seen with the next refresh; what has ended, by a second list 10 s later. */
const seenWithinMs = 45_000;
/** How long an action of a user, or an event, is delayed at most so that it falls on a deadline. */
const mostPutOffMs = 5_000;
/** All is well, and then the service may still suspend what came up last, in the longest time that plays ask for. */
const suspendsWithinMs = 600_000;
/** Three refreshes. */
const quietForMs = 95_000;

/** Plays a script to its end, lets everything come to rest, and tells which promises were broken on the way. */
export async function play(script: Script, options: RunOptions = {}): Promise<RunResult> {
  const world = new World({ ...script, ...options });
  try {
    world.start();
    for (const { atMs, action } of script.actions) {
      await world.runUntil(atMs);
      const putOffMs = world.weather.edges.delay(0, mostPutOffMs);
      if (putOffMs !== undefined) await world.runUntil(world.clock.monotonic() + putOffMs);
      if (world.promises.violations.length > 0) break;
      world.invariants.note(() => `--- ${inWords({ atMs, action }).slice(11)}`);
      perform(world, action);
    }
    await world.runUntil(script.calmAtMs);
    options.onCalm?.();
    if (script.boundaryAtMs !== undefined) watchBoundary(world, script.boundaryAtMs, script.refreshMs ?? 30_000);
    if (world.promises.violations.length === 0) await comeToRest(world, options.onRest, script.boundaryAtMs);
    const { violations } = world.promises;
    options.onEnd?.(world);
    return {
      violations: [...violations],
      steps: world.invariants.steps,
      faults: world.weather.tally,
      history: () => world.invariants.history(),
    };
  } finally {
    world.close();
  }
}

/**
 * At the end of an entry, with all at rest right before, each Compute is brought to what holds then: within a refresh,
 * and the time that the changes of its project take one after another.
 */
function watchBoundary({ clock, workload, promises }: World, atMs: number, refreshMs: number): void {
  const applied = (compute: KubeObject) => {
    const { appliedEntry } = statusOf(compute);
    return typeof appliedEntry === "string" ? appliedEntry : "";
  };
  const settled = new Map<string, unknown>();
  clock.after(atMs - 2000 - clock.monotonic(), () => {
    for (const compute of workload.computes()) {
      const isAtRest = ["Ready", "Synced"].every((type) => conditionOf(compute, type)?.status === "True");
      if (isAtRest && applied(compute) !== "") settled.set(compute.metadata.uid, compute.metadata.generation);
    }
  });
  clock.after(atMs + refreshMs + bringsWithinMs - clock.monotonic(), () => {
    for (const compute of workload.computes()) {
      const { uid, name, generation } = compute.metadata;
      const isSame = settled.has(uid) && settled.get(uid) === generation && !isDeleting(compute);
      if (!isSame || applied(compute) === "") continue;
      promises.report("boundaries are kept", `${name} still follows ${applied(compute)}, which has ended`);
    }
  });
}

/** Faults stop, users do what only they can do, and then all must be well and quiet. */
export async function comeToRest(world: World, onRest: () => void = () => {}, boundaryAtMs = 0): Promise<void> {
  const { promises, clock, weather } = world;
  weather.rates = noFaults;
  const calmAt = Math.max(clock.monotonic(), await passOutages(world, boundaryAtMs));
  for (const compute of world.workload.computes()) {
    if (annotationOf(compute, "paused") !== undefined) world.workload.annotate(compute.metadata.name, "paused", null);
  }
  for (const branch of world.workload.branches()) {
    if (annotationOf(branch, "paused") !== undefined)
      world.workload.annotateBranch(branch.metadata.name, "paused", null);
  }
  let wrong: string[] = [];
  /** What is wrong is more than that a status is behind what the service has done since. */
  let isUnwell = false;
  let unstalled: string[] = [];
  let serviceRestsFrom = calmAt;
  // Creates that arrive too late may leave so many to be deleted.
  let deletionsMs = 0;
  const isLate = () => {
    // What the service has just done may be what is not seen yet.
    const isSeen = clock.monotonic() - serviceRestsFrom > seenWithinMs;
    return clock.monotonic() >= calmAt + wellWithinMs + deletionsMs + (isUnwell && isSeen ? 0 : suspendsWithinMs);
  };
  while (!isLate()) {
    await world.runUntil(clock.monotonic() + lookEveryMs);
    if (promises.violations.length > 0) return;
    deletionsMs = Math.max(deletionsMs, (world.host.allEndpoints().length * 60_000) / world.maxDeletesPerMinute);
    const complaining = complaintsOf(world);
    isUnwell = complaining.length > 0;
    wrong = [...complaining, ...untruths(sceneOf(world)), ...untrueConnections(world.workload.connections())];
    const onTheWay =
      world.branches.arrivesAt > clock.monotonic() ||
      promises.writes.some(({ arrivesAt = 0 }) => arrivesAt > clock.monotonic());
    if (onTheWay || world.host.restsFrom() !== undefined) serviceRestsFrom = clock.monotonic();
    const restedSince = Math.max(world.invariants.lastWrite.at, serviceRestsFrom);
    unstalled = world.workload.computes().flatMap(isYetToStall);
    if (wrong.length + unstalled.length === 0 && clock.monotonic() - restedSince > seenWithinMs) break;
    lendAHand(world, calmAt);
  }
  for (const complaint of [...wrong, ...unstalled]) promises.report("all is well afterwards", complaint);
  const restedAt = clock.monotonic();
  onRest();
  world.invariants.atRest();
  await world.runUntil(restedAt + quietForMs);
  const { at, what } = world.invariants.lastWrite;
  if (at > restedAt) {
    promises.report("quiet when settled", `${Math.round(at - restedAt)} ms after all was well: ${what()}`);
  }
  for (const complaint of complaintsOf(world)) promises.report("all stays well", complaint);
}

function sceneOf({ workload, host, promises, services, strictSpec }: World): Scene {
  const { register } = promises;
  const forgotten = strictSpec ? register.untold : new Set<string>();
  return {
    computes: workload.managed().map((compute) => onNamedBranch(compute, host, workload.branches())),
    isBranchUsable: (name) => isUsable(workload.branches().find(({ metadata }) => metadata.name === name)),
    hasBranch: (project, id) => host.hasBranch(project, id),
    endpoints: host.allEndpoints(),
    pools: workload.pools(),
    namesShown: !strictSpec,
    forgotten,
    isPlaceForgotten: (uid, endpoint) =>
      register.wiped.has(uid) ||
      register.neverMoved(uid) ||
      promises.isMadeTooLate(endpoint.id) ||
      promises.isMovedUnseen(endpoint, uid),
    inFleet: promises.fleets.fleet() !== undefined,
    isSignedOver: (uid) => promises.fleets.isSignedOver(uid, host.allEndpoints()),
    toTakeOver: (compute) => promises.fleets.toTakeOver(compute, host.allEndpoints()),
    disabledFor: (endpointID) => promises.disabled.uidOf(endpointID),
    mayLeave: new Set([
      ...register.letGoByPerson,
      ...register.retained,
      ...register.uninstalled,
      ...register.askedSince(services.firstEditedAt),
      ...promises.createdTooLate({ unseen: strictSpec }),
      ...promises.fleets.signedTooLate(),
      ...forgotten,
    ]),
  };
}

function complaintsOf(world: World): string[] {
  const { awaited } = world.workload;
  const ending = awaited === undefined ? [] : [`${awaited} is still being deleted`];
  const observers = observerComplaints(world.workload.computes(), world.host.allEndpoints());
  const secrets = world.server.store.list(world.server.resource("", "secrets"), undefined);
  const ofSecrets = world.promises.secrets.complaints(world.workload.managed(), secrets);
  return [
    ...ending,
    ...complaints(sceneOf(world)),
    ...branchComplaints(branchSceneOf(world)),
    ...observers,
    ...ofSecrets,
  ];
}

function branchSceneOf({ workload, host, branches, fleet }: World): BranchScene {
  return { objects: workload.branches(), host, guard: branches, fleet };
}

/** What was down, paused or without a key recovers automatically, the last of it within about a minute. */
async function passOutages(world: World, boundaryAtMs: number): Promise<number> {
  await world.runUntil(Math.max(world.clock.monotonic() + 65_000, boundaryAtMs));
  return world.clock.monotonic();
}

/** Does what the conditions ask a person to do, where only a person can tell: now and then. */
function lendAHand(world: World, calmAt: number): void {
  const { workload, clock } = world;
  const minutes = Math.floor((clock.monotonic() - calmAt) / 60_000);
  const scene = sceneOf(world);
  lendBranchesAHand(world, minutes);
  // While the connection leads elsewhere a person confirms nothing: what is missing there stands where it leads again.
  if (world.services.baseURL !== serviceURL) return;
  for (const compute of scene.computes) {
    const { name, uid } = compute.metadata;
    const reason = conditionOf(compute, "Ready")?.reason;
    // A person confirms only a loss that is one: any other stays, and is complained of.
    if (reason === "MassLoss" && world.losses.isRight(uid)) workload.annotate(name, "confirmLoss", `calm-${minutes}`);
    const late = reason === "PrimaryExists" ? lateTwinOf(compute, scene) : undefined;
    if (late !== undefined) workload.adopt(name, late.id);
    if (reason !== "CreateUnknown") continue;
    // What Computes that are gone had, an operator knows that was there, and a new leader does not.
    const undecidable = [true, false].some((gone) => {
      const isOthers = (id: string) => world.promises.register.isOthers(id, uid, { gone });
      return isUndecidable(compute, scene, world.services.baseURL, isOthers);
    });
    if (undecidable) tellOutcome(world, compute, `calm-${minutes}`);
  }
}

/** What stands in the way of a deletion is put right, and a reset that nobody knows of is asked for once more. */
function lendBranchesAHand({ workload, host }: World, minutes: number): void {
  for (const object of workload.branches()) {
    const ready = conditionOf(object, "Ready");
    const branch = host.branch(String(specOf(object)["projectID"]), String(statusOf(object)["branchID"]));
    const isAsked = ready?.reason === "Rejected" && String(ready.message).includes("set resetAt to a new value");
    if (isAsked) workload.annotateBranch(object.metadata.name, "resetAt", `calm-${minutes}`);
    if (branch === undefined || !isDeleting(object)) continue;
    if (ready?.reason === "Protected") unprotect(host, branch);
    if (ready?.reason !== "HasChildren") continue;
    for (const child of host.childrenOf(branch)) removeWithChildren(host, child);
  }
}

function unprotect(host: ServiceHost, { projectId, id }: Branch): void {
  host.byPeople("PATCH", `/projects/${projectId}/branches/${id}`, { branch: { protected: false } });
}

function removeWithChildren(host: ServiceHost, branch: Branch): void {
  for (const child of host.childrenOf(branch)) removeWithChildren(host, child);
  if (branch.isProtected) unprotect(host, branch);
  host.byPeople("DELETE", `/projects/${branch.projectId}/branches/${branch.id}`);
}

/** Where no names are shown, what a create of the Compute made on its branch, and nothing proves its own. */
function lateTwinOf(compute: KubeObject, { endpoints, namesShown }: Scene): StoredEndpoint | undefined {
  if (namesShown) return undefined;
  const { branchID } = specOf(compute);
  const { uid } = compute.metadata;
  return endpoints.find(
    ({ name, branchId, type }) => uidInSignature(name) === uid && branchId === branchID && type === "read_write",
  );
}

/** A person who finds the endpoint at the service names it; else confirms that there is none. */
function tellOutcome({ workload, host }: World, compute: KubeObject, confirmation: string): void {
  const { metadata } = compute;
  const own = host.allEndpoints().filter(({ name }) => uidInSignature(name) === metadata.uid);
  const places = [specOf(compute)["branchID"], recordOf(compute)?.["branchID"]];
  const made = places.flatMap((place) => own.filter(({ branchId }) => branchId === place))[0];
  if (made === undefined) workload.annotate(metadata.name, "confirmLoss", confirmation);
  else workload.adopt(metadata.name, made.id);
}
