import type { Branch } from "../../../src/service/store/branches.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";
import type { BranchesGuard } from "./branch-guard.ts";
import { isEndless, isLease, millisecondsOf, notedUID } from "./branch-objects.ts";
import { annotationOf, conditionOf, isDeleting, shownCondition, specOf, statusOf } from "./computes.ts";
import type { ServiceHost } from "./service-host.ts";
import { branchesOf, projects } from "./service-seed.ts";

/** What a judgement of Branches is made from, once faults have stopped. */
export interface BranchScene {
  objects: readonly KubeObject[];
  host: ServiceHost;
  guard: BranchesGuard;
  fleet: string | undefined;
}

/** An end at the service may differ by so much from the one that is counted: what was sent was on its way. */
const onItsWayMs = 60_000;

/** What is not as it should be: each Branch as declared or saying truly why not, and no branch left behind. */
export function branchComplaints(scene: BranchScene): string[] {
  const { objects, host, guard } = scene;
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  const left = host.madeBranches().filter((branch) => {
    const uid = notedUID(branch);
    const isTaken = objects.some((object) => proofOf(object)?.["branchID"] === branch.id);
    return uid !== undefined && !uids.has(uid) && !guard.mayStay.has(uid) && !isTaken;
  });
  const seeded = projects.flatMap((project) => branchesOf(project).map((id) => ({ project, id })));
  return [
    ...objects.flatMap((object) => judged(object, scene)),
    ...seeded
      // People delete branches of the seed too.
      .filter(({ project, id }) => !host.hasBranch(project, id) && host.deletedByPeopleAt(id) === undefined)
      .map(({ id }) => `branch ${id} of the seed is gone`),
    ...left.map(({ id, name }) => `branch ${id} (${name}) is left behind`),
  ];
}

/** True if a Branch cannot be used now, so what names it waits. */
export function isUsable(object: KubeObject | undefined): boolean {
  return object !== undefined && !isDeleting(object) && conditionOf(object, "Ready")?.status === "True";
}

function judged(object: KubeObject, scene: BranchScene): string[] {
  const { name, generation } = object.metadata;
  const status = statusOf(object);
  const ready = conditionOf(object, "Ready");
  const shown = shownCondition(object);
  const reason = String(shown?.reason);
  const said = `${reason}: ${String(shown?.message)}`;
  if (ready?.status !== "True" || isDeleting(object)) {
    const what = isDeleting(object) ? "is still being deleted" : "is not ready";
    return isExplained(reason, object, scene) ? [] : [`Branch ${name} ${what} (${said})`];
  }
  const [own, ...more] = ownOf(object, scene);
  if (own === undefined || more.length > 0) return [`Branch ${name} has not one branch of its own (${said})`];
  if (status["branchID"] !== own.id)
    return [`Branch ${name} is linked to ${String(status["branchID"])}, not ${own.id}`];
  if (status["observedGeneration"] !== generation) return [`Branch ${name} is ready for an older generation`];
  if (status["pendingWrite"] !== undefined) return [`Branch ${name} is ready and still carries a record`];
  const differing = differencesOf(object, own, scene);
  const isDrifted = reason === "Drifted";
  if (isDrifted && scene.guard.reachedLate.has(own.id)) return [];
  if (isDrifted === differing.length > 0 && !differing.includes("protected")) return [];
  return [`Branch ${name} differs in ${differing.join(", ") || "nothing"} (${said})`];
}

/** Its own branches: by the note, or the proof that it took them over. */
function ownOf(object: KubeObject, { host, guard }: BranchScene): Branch[] {
  const proof = proofOf(object);
  const { uid } = object.metadata;
  const isOwn = (branch: Branch) =>
    notedUID(branch) === uid || (proof?.["by"] === "former" && proof["branchID"] === branch.id);
  const own = host.madeBranches().filter(isOwn);
  return guard.standing.isTwice(uid) ? own.filter(({ id }) => id === statusOf(object)["branchID"]) : own;
}

function differencesOf(object: KubeObject, branch: Branch, scene: BranchScene): string[] {
  const spec = specOf(object);
  const wanted = spec["branchName"] ?? `${object.metadata.namespace}/${object.metadata.name}`;
  return [
    ...(branch.name === wanted ? [] : ["name"]),
    ...(isEndAsDeclared(object, branch, scene) ? [] : ["expiry"]),
    ...(spec["protected"] === undefined || spec["protected"] === branch.isProtected ? [] : ["protected"]),
  ];
}

/** The end is the declared one, counted from some time since it was last asked for. */
function isEndAsDeclared(
  { metadata, ...object }: KubeObject,
  { id, expiresAt, createdAt }: Branch,
  scene: BranchScene,
) {
  const { guard, host } = scene;
  const theirs = guard.peoplesEnd(id);
  const { expiry } = specOf({ metadata, ...object });
  if (!isJsonObject(expiry) || isEndless({ expiry })) return expiresAt === undefined;
  if (expiresAt === undefined) return false;
  if (typeof expiry["at"] === "string") return Math.abs(Date.parse(expiry["at"]) - expiresAt) <= 1000;
  const lengthMs = millisecondsOf(expiry["after"] ?? expiry["lease"]);
  // An end that people gave a branch is drift, unless a lease was renewed from there.
  if (theirs?.end === expiresAt && expiry["after"] !== undefined) return false;
  const ago = host.now - guard.wishedAt(metadata.uid);
  const from = expiry["lease"] === undefined ? Math.max(createdAt, host.wall - ago) : host.wall - lengthMs * (5 / 8);
  return expiresAt >= from + lengthMs - onItsWayMs && expiresAt <= host.wall + lengthMs + onItsWayMs;
}

/** True if the reason that a Branch gives for not being ready is true. */
function isExplained(reason: string, object: KubeObject, scene: BranchScene): boolean {
  const { host, guard } = scene;
  const spec = specOf(object);
  const status = statusOf(object);
  const project = String(spec["projectID"]);
  const id = String(status["branchID"]);
  const branch = host.branch(project, id);
  const asks = annotationOf(object, "resetAt");
  const isResetDue = asks !== undefined && asks !== status["resetAt"];
  const hasChildren = branch !== undefined && host.childrenOf(branch).length > 0;
  switch (reason) {
    case "Expired": {
      // No outage lasts as long as a lease.
      const isOver = Date.parse(String(status["expiresAt"])) <= host.wall + onItsWayMs;
      return branch === undefined && isOver && (!isLease(object) || guard.peoplesEnd(id) !== undefined);
    }
    case "BranchLost":
      return branch === undefined && host.deletedByPeopleAt(id) !== undefined;
    case "BranchExists":
      return status["branchID"] === undefined && isNameOthers(object, scene);
    case "BranchNotFound": {
      const parent = isJsonObject(spec["parent"]) ? spec["parent"] : {};
      const isParentGone = typeof parent["branchID"] === "string" && !host.hasBranch(project, parent["branchID"]);
      const wasSeen = status["branchID"] !== undefined;
      return wasSeen ? branch === undefined : isParentGone;
    }
    case "Protected":
      return branch !== undefined && branch.isProtected && !isDeleting(object) && isResetDue;
    case "HasChildren":
      return hasChildren && !isDeleting(object) && isResetDue;
    case "Rejected":
      // The service gives neither a protected branch nor one with children an end.
      return branch !== undefined && (branch.isProtected || hasChildren) && !isEndless(spec) && !isDeleting(object);
    case "Paused":
      return annotationOf(object, "paused") !== undefined;
    default:
      return guard.get(object.metadata.uid) === undefined;
  }
}

/** True if the name is somebody else's, also of a branch that was deleted, and not to be taken over. */
function isNameOthers(object: KubeObject, { host, fleet, objects }: BranchScene): boolean {
  const { branchName, projectID, adopt } = specOf(object);
  const { uid, namespace, name } = object.metadata;
  const project = String(projectID);
  const wanted = typeof branchName === "string" ? branchName : `${namespace}/${name}`;
  const [id] = host.branchesNamed(project, wanted);
  const holder = id === undefined ? undefined : host.branch(project, id);
  if (holder === undefined) return host.isNameTaken(project, wanted);
  const noted = notedUID(holder);
  if (noted === uid) return false;
  const note: JsonObject = isJsonObject(holder.details.annotations) ? holder.details.annotations : {};
  const isOfFormerBranch =
    fleet !== undefined &&
    note["compute-operator.dev/fleet"] === fleet &&
    note["compute-operator.dev/object"] === `${namespace}/${name}` &&
    !objects.some(({ metadata }) => metadata.uid === noted);
  return !(isJsonObject(adopt) && adopt["former"] === true && isOfFormerBranch);
}

function proofOf(object: KubeObject): JsonObject | undefined {
  const { proof } = statusOf(object);
  return isJsonObject(proof) && proof["uid"] === object.metadata.uid ? proof : undefined;
}
