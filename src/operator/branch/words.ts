import { isAboutBranch } from "../../api/error.ts";
import type { Operation } from "../../api/operation.ts";
import { meaningOfKind } from "../conditions/messages.ts";
import { clippedNames } from "../objects/conditions-of.ts";
import type { Failure } from "../service-client/answer.ts";
import type { BranchReason } from "./reasons.ts";

// Messages of conditions and events of Branches. `said` is the service's own text.

const retried = "Retried automatically.";

export const ends = {
  past: (at: string, id: string) =>
    `spec.expiry.at (${at}) is in the past, so it is not sent, and branch ${id} keeps the end that it has. Set another expiry, or delete this object.`,
  ignored: (id: string) =>
    `The service accepted the end of branch ${id} and does not show it, so the branch does not end automatically; the operator retries with backoff, at most hourly. Ask the service's support whether the account may use expires_at, or set expiry.never.`,
  drifted: (theirs: string | undefined, ours: string | undefined) =>
    `The end of the branch was changed at the service from ${ours ?? "never"} to ${theirs ?? "never"}. The new end is kept until spec.expiry changes.`,
  late: (end: string) =>
    `The lease of the branch ends at ${end} and could not be renewed. Put right what its conditions say, or the service deletes the branch with its data.`,
};

export const creating = {
  sent: (name: string) => `The service creates branch "${name}".`,
  unknown:
    "The service gave no usable answer to the create. The branches are listed again, and the create is sent again if none shows it.",
  found: (name: string, id: string) => `Created branch ${name} (${id}).`,
  expired: (at: string) =>
    `Expired: spec.expiry.at (${at}) is in the past, so no branch is created. Set another expiry, or delete this object.`,
  parentNotFound: (named: string, projectID: string) =>
    `Project ${projectID} has no branch ${named}, from which this one is to start. Create it, or make another object with another parent; ${retried.toLowerCase()}`,
};

export const available = (name: string, id: string) => `Branch ${name} (${id}) is ready.`;
export const renamed = (theirs: string, ours: string) =>
  `The branch was renamed at the service from "${ours}" to "${theirs}", and keeps that name.`;
export const protectedOtherwise = (theirs: boolean) =>
  `The service shows the branch as ${theirs ? "protected" : "not protected"}, and spec.protected says otherwise.`;
export const initialising = (state: string, id: string) => `The service prepares branch ${id} (${state}).`;

export const taken = {
  /** A branch that is listed has the name. */
  listed: (name: string, id: string, by: string, end: string | undefined) =>
    `Branch "${name}" (${id}) exists and ${by}; it ${end === undefined ? "has no end" : `ends at ${end}`}. Take it over with spec.adopt, or delete it; another branchName needs another object.`,
  byFormer: (place: string, uid: string) => `was created by Branch ${place} with uid ${uid}`,
  byNobody: "was not created by this operator",
  byOther: "was created by another operator",
  /** None that is listed has it. */
  unlisted: (name: string, said: string) =>
    `The service refuses the name "${name}" (${said}), and lists no branch that has it: a deleted branch may hold it while it can be recovered. Another branchName needs another object; ${retried.toLowerCase()}`,
  endsSoon: (name: string, end: string) =>
    `The branch that has the name "${name}" ends at ${end} and is deleted with its data; this object then creates its own. Give that branch another end or name if its data is to stay.`,
  looking: (name: string) => `The service says that branch "${name}" exists. The branches are listed again.`,
};

export const adoption = {
  notFound: (what: string) =>
    `There is no branch ${what} to adopt. Correct spec.adopt, or remove it to have one created.`,
  noted: (id: string, by: string) =>
    `Branch ${id}, which spec.adopt names, ${by}, so it is not adopted. Delete that object with deletionPolicy: Retain and use adopt.former, or name another branch.`,
  noFleet:
    "adopt.former needs the operator's --fleet, by which it knows what a former cluster made. Set it, or remove spec.adopt.",
  adopted: (id: string) => `Adopted branch ${id}; it is never given an end, reset or deleted.`,
  former: (id: string) => `Took over branch ${id}, which a former Branch of this name created.`,
};

/** Of a Branch that only observes. */
export const observed = {
  atRest: (differences: readonly string[], id: string) =>
    differences.length === 0
      ? `Branch ${id} is shown. Nothing is sent because managementPolicy is Observe.`
      : `Nothing is sent because managementPolicy is Observe; Manage would change ${differences.join(", ")} of branch ${id}.`,
  busy: (state: string, id: string) => `Branch ${id} is ${state} at the service.`,
  notFound: (what: string) => `There is no branch ${what} to show. Correct spec.adopt, or delete this object.`,
  released: "Nothing is deleted at the service: managementPolicy is Observe.",
};

export const conflict = (what: string, place: string) =>
  `Branch object ${place} already claims ${what}. Delete one of the two; another branchName needs another object.`;

export const provedElsewhere = (id: string) =>
  `The connection leads to another base URL than the one through which this object got its branch, and branch ${id} there has no note of this object, so nothing is sent. Put the base URL back, or delete this object, which keeps the branch.`;

export const computeTaken = (name: string) =>
  `Compute "${name}" exists and is not owned by this Branch, so spec.compute is not made. Delete that Compute, or remove spec.compute and name this Branch in its branchRef.`;

/** Event of the Compute. */
export const computeRestored = (branch: string): string =>
  `The spec differed from spec.compute of Branch ${branch} and was restored. Change spec.compute there instead.`;

export const computeRefused = (name: string, said: string) =>
  `The Kubernetes API server refused Compute "${name}" as spec.compute declares it: ${said}. Change spec.compute, or what refuses it; retried with backoff, at most hourly.`;

export const gone = {
  expired: (id: string, end: string) =>
    `Expired: branch ${id} came to its end at ${end} and was deleted with its data. Delete this object, or set the annotation resetAt to a new value or another expiry to have a fresh one made.`,
  lost: (id: string) =>
    `Branch ${id} was deleted outside the operator. Recover it at the service while that is possible, or set the annotation resetAt to a new value to have a fresh one made.`,
  unseen: (id: string) =>
    `The changed connection does not show branch ${id}, which proves nothing. Put base URL and key back, or set the annotation resetAt to a new value if the branch is gone.`,
};

export const resets = {
  sent: (id: string) => `The service resets branch ${id} to the head of its parent.`,
  done: (id: string) => `Reset branch ${id} to the head of its parent.`,
  running: (state: string, id: string) => `Branch ${id} is ${state}; the reset follows.`,
  unknown: (value: string) =>
    `The service gave no usable answer to the reset that resetAt ${JSON.stringify(value)} asks for, and shows no time of the last reset, so it is not sent again. Look at the data, and set resetAt to a new value for another reset.`,
  waiting: "The service gave no usable answer to the reset. Whether it was carried out shows within about a minute.",
  adopted: "An adopted branch is never reset. Remove the annotation resetAt.",
  protected: (id: string) =>
    `Branch ${id} is protected or the default branch, which is never reset. Remove the annotation resetAt, or set spec.protected to false.`,
  children: (names: string) =>
    `A reset would move the branch's children (${names}) to a copy. Delete them; the reset follows.`,
  failed: ({ action, id, status, error, failures_count: failures = 0 }: Operation, branchID: string) =>
    `The reset of branch ${branchID}: operation ${action} ended as ${status} (failed attempts: ${failures})${error === undefined ? "" : `: ${error}`}. Look at the data, and set resetAt to a new value for another reset, or ask the service's support about operation ${id}.`,
  noParent: "The branch has no parent to be reset to. Remove the annotation resetAt.",
};

export const deleting = {
  sent: (id: string) => `The service deletes branch ${id} and its computes.`,
  confirming: (id: string) => `Branch ${id} is deleted; further lists confirm it.`,
  orphaning: (id: string | undefined) =>
    `Deletion waits until Kubernetes has removed this object as the owner of others (finalizer orphan, from kubectl delete --cascade=orphan). Nothing is sent until then; afterwards a Compute that uses the branch keeps it${id === undefined ? "" : ` (${id})`}.`,
  unseen: (id: string) =>
    `The changed connection does not show branch ${id}, which does not prove it deleted. Put base URL and key back, or set deletionPolicy: Retain to let the branch go.`,
  settling: "An earlier create may still be carried out. Whether it was shows within about a minute.",
  brake: (id: string) =>
    `--max-branch-deletes-per-minute holds the deletion of branch ${id} back, because many branches are deleted at once. Set the annotation paused on those that are to stay.`,
  default: (id: string) =>
    `Branch ${id} is the project's default, which is never deleted. Make another one the default, or set deletionPolicy: Retain.`,
  protected: (id: string) =>
    `Branch ${id} is protected, and a protected branch is never deleted. Take its protection away at the service, or set deletionPolicy: Retain.`,
  children: (names: string, id: string) =>
    `Other branches (${names}) start from branch ${id}. Delete them, or set deletionPolicy: Retain.`,
  inUse: (names: string) =>
    `Other Computes in this namespace (${names}) still use the branch. Delete or move them; the deletion of a paused one waits.`,
  orRetain: "Set deletionPolicy: Retain to let the branch go without the service.",
  conflict: (id: string) => `Branch ${id} is kept, because another Branch object owns it.`,
};

export const released = {
  deleted: (id: string) => `Deleted branch ${id} and its computes.`,
  none: "No branch was left to delete.",
  retained: (id: string, end: string | undefined) =>
    `Kept branch ${id} by deletionPolicy: Retain; it ${end === undefined ? "has no end" : `still ends at ${end}`}.`,
  adopted: (id: string) => `Kept branch ${id}, which was adopted.`,
  unproved: (id: string) => `Kept branch ${id}, because nothing proves that this object made it.`,
  leftBehind: (idOrName: string, end: string | undefined) =>
    `The Branch was deleted without the operator's finalizer, so its branch ${idOrName} is kept; it ${end === undefined ? "has no end" : `ends at ${end}`}. Delete it at the service if it is not needed.`,
  uninstalling: (id: string) => `Kept branch ${id}, because the definition of Branches is being deleted.`,
};

export const waiting = "Waiting for other requests to the project. This one follows automatically.";

export const paused =
  "The annotation paused is set: nothing is sent but the renewal of a lease. Remove it to continue.";

/** Purposes of requests: each completes "The service could not …". */
export const doing = {
  list: (projectID: string) => `list the branches of project ${projectID}`,
  create: (name: string) => `create branch "${name}"`,
  patch: (id: string) => `change branch ${id}`,
  reset: (id: string) => `reset branch ${id}`,
  delete: (id: string) => `delete branch ${id}`,
  show: (id: string) => `show branch ${id}`,
};

/** Meaning of a failed call for the Branch that it was made for. */
export function meaningOf(failure: Failure, what: string): { reason: BranchReason; message: string } {
  const { kind, message: said } = failure;
  if (kind !== "notFound" || !isAboutBranch(said)) return meaningOfKind(failure, what, "branches");
  return { reason: "BranchNotFound", message: `The service could not ${what}: ${said}. ${retried}` };
}

/** Branches or Computes in a message, as many as fit. */
export function namesOf(names: readonly string[]): string {
  return clippedNames(names, 300);
}
