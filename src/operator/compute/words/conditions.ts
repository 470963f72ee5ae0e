import type { Difference } from "../../fields/compare.ts";
import { annotations } from "../../resources/names.ts";
import type { Progress } from "./reasons.ts";

// Messages of a live Compute's conditions, by their reason. `owner` names the other Compute.

export const resting = {
  Active: "The compute is as declared.",
  Idle: "The compute is as declared and suspended. The first connection wakes it.",
  Disabled: "The compute is as declared: disabled, so it accepts no connections.",
};

export const drifted = (differences: readonly Difference[]): string => {
  const fields = differences.map(({ field, ours, theirs }) => `${field}: theirs ${theirs}, ours ${ours}`).join("; ");
  return `The service differs from the spec (${fields}). Nothing is sent because driftPolicy is Report: change the spec, or set driftPolicy to Correct.`;
};

/** Of a Compute that only observes. */
export const observed = {
  atRest: (differences: readonly Difference[]): string =>
    differences.length === 0
      ? "The service shows what the spec says. Nothing is sent because managementPolicy is Observe."
      : `Nothing is sent because managementPolicy is Observe; Manage would change ${inWords(differences)}.`,
  nothing:
    "Nothing is linked to this Compute, and managementPolicy: Observe creates nothing. Set spec.adopt to what is to be shown, or managementPolicy to Manage.",
  gone: (endpointID: string) =>
    `Endpoint ${endpointID}, which this Compute is linked to, was deleted outside the operator, and managementPolicy: Observe creates nothing. Set managementPolicy to Manage, or delete this Compute.`,
  noPrimary: (branchID: string) =>
    `Branch ${branchID} has no primary to show, and managementPolicy: Observe creates nothing. Set managementPolicy to Manage to have one created.`,
  former: (why: string) =>
    `No endpoint of a former Compute of this fleet, namespace and name is shown: ${why} Set spec.adopt to what is to be shown.`,
};
export const waitingForWindow = (changes: readonly { field: string; ours: string }[]): string =>
  `A change would cut connections and waits for a window: ${changes.map(({ field, ours }) => `${field} (ours ${ours})`).join(", ")}. It is sent when one opens (status.nextWindow), once the compute is suspended, or until the time in the annotation ${annotations.disruptionUntil}.`;

export const unknownZones = (zones: readonly string[]): string =>
  `This operator does not know the time zone ${zones.join(", ")}: its entries of the schedule are never in force and its windows never open. Name another zone.`;

/** Of deprecated fields. */
export const notKept = (differences: readonly Difference[]): string =>
  `The service accepted ${inWords(differences)} and does not keep it, because the field is deprecated there; it is not sent again. Remove it from the spec.`;

export const notMoved = (theirs: string, ours: string, endpointID: string): string =>
  `The service accepted the move to branch ${ours} and left endpoint ${endpointID} on branch ${theirs}, because moving is deprecated there. Put the branch of the spec back, or create a Compute on branch ${ours} and delete this one, whose host ends with it.`;

/** Added where a move is refused. */
export const insteadOfMove = (branchID: string): string =>
  `Where the service moves no endpoints, create a Compute on branch ${branchID} and delete this one, whose host ends with it.`;

export const hiddenDeprecated = (fields: string): string =>
  `The service does not show ${fields}, which is deprecated there: remove it from the spec.`;

export const movedOutside = (theirs: string, ours: string, endpointID: string): string =>
  `Endpoint ${endpointID} was moved to branch ${theirs} outside the operator and stays there; the spec says ${ours}. Set the branch of the spec to ${theirs}, or spec.branchDrift to Correct to have it moved back.`;

const progressTexts: Readonly<Record<Progress, (endpointID: string) => string>> = {
  Creating: (endpointID) => `Endpoint ${endpointID} was created. The service is starting it.`,
  Starting: (endpointID) => `The service is starting endpoint ${endpointID}.`,
  Updating: (endpointID) => `The service accepted a change and is applying it to endpoint ${endpointID}.`,
  Moving: (endpointID) => `The service is moving endpoint ${endpointID} to another branch.`,
  Restarting: (endpointID) => `The service is restarting endpoint ${endpointID}.`,
};

export const inProgress = (progress: Progress, endpointID: string): string => progressTexts[progress](endpointID);

export const notShownYet = "The service accepted a change and does not show it yet.";

export const restartDone = (endpointID: string): string => `The service restarted endpoint ${endpointID}.`;

/** Of the progress that the write would begin. */
export const waiting = {
  forBudget:
    "Waiting for the request budget: other requests with the same API key come first. If this lasts, raise spec.requestBudget of the ServiceConnection.",
  forProject: (projectID: string, write: "create" | "patch" | "restart") =>
    `Waiting: another operation runs in project ${projectID}. The ${write === "patch" ? "change" : write} follows.`,
  toDelete: {
    project: (projectID: string, endpointID: string) =>
      `Waiting: another operation or deletion runs in project ${projectID}. The deletion of endpoint ${endpointID} follows.`,
    brake: (endpointID: string) =>
      `Waiting: --max-deletes-per-minute allows no further deletion for the moment. The deletion of endpoint ${endpointID} follows.`,
  },
};

export const creating = {
  branchHeld: (owner: string, branchID: string) =>
    `Waiting until ${owner} has left branch ${branchID}. The create follows.`,
  takingOver: (endpointID: string) =>
    `Endpoint ${endpointID} of the former Compute is signed for this one. It is linked once a list shows that.`,
  sending: (branchID: string) => `The endpoint is being created on branch ${branchID}.`,
  perhapsOthers: (owner: string, endpointID: string) =>
    `The branch's primary, endpoint ${endpointID}, may be the one that ${owner} just created, because the service does not show its name. It is adopted once that is ruled out.`,
};

export const moving = {
  branchHeld: (owner: string, branchID: string) =>
    `Waiting until ${owner} has left branch ${branchID}. The move follows.`,
  earlierMove: "Waiting: an earlier move of the endpoint may still complete. Other changes follow.",
};

export const conflict = {
  branchTaken: (owner: string, branchID: string) =>
    `${owner} claims the primary of branch ${branchID}, and a branch has only one. Delete one of the two Computes, or name another branch.`,
  moveTaken: (owner: string, branchID: string) =>
    `${owner} claims the primary of branch ${branchID}, so the endpoint is not moved there. Name another branch, or delete that Compute.`,
  swap: (owner: string) =>
    `This Compute and ${owner} want each other's branch, and a branch has only one primary, so neither can move. Move one of them to a third branch first.`,
  adopted: (owner: string, endpointID: string) =>
    `${owner} claims endpoint ${endpointID}, which this Compute is to adopt, and only one Compute can own it. Delete one of the two Computes, or change spec.adopt or the branch here.`,
  linked: (owner: string, endpointID: string) =>
    `The linked endpoint ${endpointID} belongs to ${owner}, so nothing is sent for this Compute. Delete one of the two Computes, or remove the annotation ${annotations.endpointID} here to get an endpoint of its own.`,
  signedByOther: (endpointID: string) =>
    `Endpoint ${endpointID} bears the signature of another Compute, as if a second cluster ran the same fleet, so nothing is sent for this one. Stop the fleet in one of the clusters, or delete this Compute, which keeps the endpoint.`,
};

export const primaryExists = {
  create: (branchID: string, endpointID: string) =>
    `Branch ${branchID} already has a primary, which no Compute owns. Set spec.adopt to {branchPrimary: true} or {endpointID: ${endpointID}} to take it over, or delete it at the service to have a new one created.`,
  move: (branchID: string, endpointID: string) =>
    `Branch ${branchID} already has a primary, endpoint ${endpointID}, which no Compute owns, so this Compute's endpoint is not moved there. Delete that primary at the service, or name another branch.`,
};

export const adoptionRefused = {
  notFound: (projectID: string, endpointID: string) =>
    `Project ${projectID} does not have endpoint ${endpointID}, which spec.adopt names. Correct the id, or remove spec.adopt.`,
  otherType: (theirs: string, ours: string, endpointID: string) =>
    `Endpoint ${endpointID}, which spec.adopt names, is of type ${theirs}, and spec.type is ${ours}. Name another endpoint, or create a Compute of type ${theirs} to adopt it.`,
  otherBranch: (theirs: string, ours: string, endpointID: string) =>
    `Endpoint ${endpointID}, which spec.adopt names, is on branch ${theirs}, and spec.branchID is ${ours}. Set spec.branchID to ${theirs} to adopt it, and change it afterwards to move it.`,
  createdBy: (owner: string, endpointID: string) =>
    `${owner} created endpoint ${endpointID}, which spec.adopt names, and owns it. Delete that Compute with deletionPolicy: Retain to take the endpoint over, or remove spec.adopt here.`,
  withoutFleet:
    "spec.adopt.former finds what a former Compute of the same fleet created, and the operator runs without --fleet, so nothing is created. Start it with --fleet, or remove spec.adopt.",
  deleted: (endpointID: string) =>
    `Endpoint ${endpointID}, which spec.adopt names, was deleted at the service, and no replacement is created. Name another endpoint, or remove spec.adopt and the annotation ${annotations.endpointID}.`,
  linkOfOtherType: (theirs: string, ours: string, endpointID: string) =>
    `Endpoint ${endpointID}, which the annotation ${annotations.endpointID} names, is of type ${theirs}, and spec.type is ${ours}, so nothing is sent. Remove the annotation to get an endpoint of its own, or create a Compute of type ${theirs}.`,
  rotationUnproved: (endpointID: string) =>
    `The password is not changed: only the annotation ${annotations.endpointID} links endpoint ${endpointID}, which proves nothing. Name the endpoint in spec.adopt.endpointID, or remove ${annotations.passwordRotationAt} and spec.connectionSecret.rotation.`,
  restartUnproved: (endpointID: string) =>
    `The restart that the annotation ${annotations.restartedAt} asks for is not sent: only the annotation ${annotations.endpointID} links endpoint ${endpointID}, which proves nothing. Name the endpoint in spec.adopt.endpointID, or remove ${annotations.restartedAt}.`,
};

export const endpointLost = {
  replaced: (endpointID: string) =>
    `Endpoint ${endpointID} was deleted outside the operator. A replacement is created, with new connection details.`,
  reported: (endpointID: string) =>
    `Endpoint ${endpointID} was deleted outside the operator, and no replacement is created because driftPolicy is Report. Set driftPolicy to Correct to have one created, or delete this Compute.`,
};

export const operationFailed = (
  { action, id, status, error }: { action: string; id: string; status: string; error?: string | undefined },
  failures: number,
  endpointID: string,
): string =>
  `Operation ${action} of endpoint ${endpointID} ended as ${status} (failed attempts: ${failures})${error === undefined ? "" : `: ${error}`}. Restart the compute or change its spec to try again, or ask the service's support about operation ${id}.`;

export const notPersisted = (differences: readonly Difference[]): string =>
  `The service accepted a change and did not keep it: ${inWords(differences)}. Declare a value that it keeps, or leave the field out; retried with backoff, at most hourly.`;

export const tugOfWar = (differences: readonly Difference[]): string =>
  `Something outside the operator keeps changing ${inWords(differences)}. Find it and stop it, or leave the field out of the spec.`;

export const paused = (until?: string): string =>
  until === undefined
    ? `Nothing is sent while the annotation ${annotations.paused} is set. Remove it to continue.`
    : `Nothing is sent until ${until}, as the annotation ${annotations.paused} says. Remove it to continue now.`;

function inWords(differences: readonly Difference[]): string {
  return differences.map(({ field, ours, theirs }) => `${field} (ours ${ours}, theirs ${theirs})`).join(", ");
}

/** Reasons why a loss is not believed: a part of the messages of reason MassLoss. */
export const lossDoubted = {
  vanished: (projectID: string, endpointID: string) =>
    `more than half of the known endpoints of project ${projectID} vanished at once, ${endpointID} among them`,
  seenElsewhere: (endpointID: string) =>
    `endpoint ${endpointID} is not listed with the current base URL and key, and was last seen with others`,
  neverSeen: (endpointID: string) =>
    `endpoint ${endpointID} (annotation ${annotations.endpointID}) is not listed with the current base URL and key, and it is not known with which it was created`,
};

export const massLoss = (doubt: string): string =>
  `No replacement is created: ${doubt}. Check connection, key and project; if the loss is real, set the annotation ${annotations.confirmLoss} to a new value.`;

/** The CRDs are older than the operator: the API server drops the record of a write, without which nothing is sent. */
export const outdatedCRD =
  "Nothing is sent: the definition of Compute in this cluster is older than the operator, and drops status.pendingWrite. Apply the CRDs of this version (kubectl apply -k crds); it is tried again every hour.";

// Messages of conditions of reason CreateUnknown: a create was sent, and whether it made an endpoint is not known.
// `name` is the one that the endpoint was to have; `isDeleted`: the Compute is being deleted.

export const noAnswer =
  "A create was sent and got no usable answer. The next lists are searched for the endpoint before another create is sent.";

export const unknown = {
  searching: (name: string, createSettleMs: number, isDeleted: boolean): string =>
    `A create was sent and its outcome is not known. The lists are searched for ${name} for ${createSettleMs / 1000 + 10} s (--create-settle and 10 s) before ${isDeleted ? "the Compute is removed" : "another create is sent"}.`,
  sentElsewhere: (before: string, baseURL: string, name: string): string =>
    `A create was sent to ${before} and its outcome is not known; the connection leads to ${baseURL} now, whose lists decide nothing. Put spec.baseURL back, or look for ${name} there and set the annotation ${annotations.confirmLoss} to a new value.`,
  /** The name proves whose an endpoint is: where it is not shown, no list proves that ours is not there. */
  nameless: (candidates: readonly string[], isDeleted: boolean): string => {
    const ids = candidates.toSorted().join(", ");
    const otherwise = isDeleted ? ", or spec.deletionPolicy to Retain to have the Compute removed" : "";
    return `A create was sent and its outcome is not known: the service does not show the names of endpoints that it may have made (${ids}). Set spec.adopt.endpointID to the right one (for a primary also branchPrimary), or the annotation ${annotations.confirmLoss} to a new value if none is${otherwise}.`;
  },
};

/** A change or restart of a pool's member. */
export const waitingForTurn = {
  list: (pool: string) =>
    `A change that cuts connections waits for a list of the service that shows the other replicas of ComputePool ${pool}. It follows automatically.`,
  siblings: (pool: string, maxUnavailable: number) =>
    `A change that cuts connections waits: at most ${maxUnavailable} of the replicas of ComputePool ${pool} may be unavailable at a time (spec.maxUnavailable). It follows automatically.`,
};
