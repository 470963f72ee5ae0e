import type { ListedBranch } from "../../../api/branch.ts";
import type { BranchWrite } from "../../../operator/branch/action.ts";
import { parentOf } from "../../../operator/branch/plan/create.ts";
import { drift } from "../../../operator/branch/plan/expiry.ts";
import { type BranchReason, branchReasons } from "../../../operator/branch/reasons.ts";
import { retriedAtEnd } from "../../../operator/conditions/messages.ts";
import { placeOf } from "../../../operator/objects/object.ts";
import { branchNameOf, expiryInWords } from "../../../operator/resources/branch.ts";
import type { BranchEntry, FieldChange, PlanStep } from "../entries.ts";
import { saidOfBranch } from "../messages.ts";
import type { CommandScope } from "../scope.ts";
import type { TrackedBranch } from "../tracked.ts";
import { keeperOf } from "./left-to-operator.ts";
import type { UndeclaredBranch } from "./prune.ts";
import type { BranchDryRun } from "./strategy.ts";

type What = Pick<BranchEntry, "step" | "fields" | "reason" | "message">;

/** `open`: the Branches that may still be given their branches. */
export function branchEntryOf(
  { action, seen, adopted }: BranchDryRun,
  tracked: TrackedBranch,
  scope: CommandScope,
  open: readonly TrackedBranch[],
): BranchEntry {
  const { object } = tracked;
  const linked = seen.kind === "observed" ? seen.linked?.listed : undefined;
  const keptBy = scope.cluster ? undefined : keeperOf(linked);
  return {
    object: placeOf(object.metadata),
    project: object.spec.projectID,
    name: linked?.name ?? branchNameOf(object),
    ...(linked === undefined ? {} : { id: linked.id }),
    ...(adopted ? { adopts: true as const } : {}),
    ...(keptBy === undefined ? {} : { keptBy }),
    ...whatOf({ action, seen, adopted }, tracked, open),
  };
}

/** A branch that apply made and that stays, because `--prune-branches` is not set. */
export function keptEntryOf({ listed, place, project }: UndeclaredBranch): BranchEntry {
  const message = "no manifest declares it any more; apply keeps it without --prune-branches.";
  const { id, name = id } = listed;
  return { object: place, project: project.id, name, id, step: "none", fields: [], message };
}

function whatOf({ action, seen }: BranchDryRun, tracked: TrackedBranch, open: readonly TrackedBranch[]): What {
  switch (action.kind) {
    case "write":
      return whatOfWrite(action.write, tracked, seen.kind === "observed" ? seen.linked?.listed : undefined);
    case "show": {
      const isDrifted = action.reason === "Drifted" && tracked.endIsAssumed === true;
      const isLater = isDrifted && seen.kind === "observed" && drift(seen) !== undefined;
      const said = isLater ? saidOfBranch.laterEnd(seen.linked?.listed.expires_at) : action.message;
      const step = stepOf(action.reason, tracked, open);
      const message = step === "wait" ? said : said.replace(retriedAtEnd, ".");
      return { step, fields: [], reason: action.reason, message };
    }
    case "release":
      return { step: "release", fields: [], message: action.message };
    case "probe":
    case "compute":
    case "noop":
      return { step: "wait", fields: [], reason: "Updating", message: saidOfBranch.looking };
  }
}

function whatOfWrite(write: BranchWrite, { object, pruned }: TrackedBranch, listed: ListedBranch | undefined): What {
  const { expiry, parent = {} } = object.spec;
  const ends: FieldChange = { field: "expiry", ours: expiryInWords(expiry) };
  switch (write.op) {
    case "create": {
      const { branchName, branchID, at, lsn, schemaOnly } = parent;
      const from = branchName ?? branchID;
      const fields = [
        ...(from === undefined ? [] : [{ field: "parent", ours: from }]),
        ...(at === undefined ? [] : [{ field: "parent.at", ours: at }]),
        ...(lsn === undefined ? [] : [{ field: "parent.lsn", ours: lsn }]),
        ...(schemaOnly === true ? [{ field: "parent.schemaOnly", ours: "true" }] : []),
        ends,
        ...(object.spec.protected === true ? [{ field: "protected", ours: "true" }] : []),
      ];
      return { step: "create", fields };
    }
    case "patch": {
      if (write.why === "protection") {
        const ours = String(write.body.protected);
        return { step: "patch", fields: [{ field: "protected", theirs: String(!write.body.protected), ours }] };
      }
      return { step: "patch", fields: [{ ...ends, theirs: listed?.expires_at ?? "never" }] };
    }
    case "reset":
      return { step: "reset", fields: [], message: saidOfBranch.reset };
    case "delete":
      return { step: "delete", fields: [], message: pruned ?? saidOfBranch.deleted };
  }
}

/** Reasons of Branches that stay as they are and need nobody: an end that was asked for is no problem. */
const unproblematic: readonly BranchReason[] = ["Available", "Drifted", "Expired", "Observed"];

/** `open`: the Branches that may still be given their branches. */
export function stepOf(reason: BranchReason, tracked: TrackedBranch, open: readonly TrackedBranch[]): PlanStep {
  if (unproblematic.includes(reason)) return "none";
  if (reason === "BranchNotFound") return isParentComing(tracked, open) ? "wait" : "refuse";
  const { stalled, synced } = branchReasons[reason];
  if (stalled === true || reason === "InUse" || reason === "HasChildren") return "refuse";
  return synced === "compared" && reason !== "Paused" ? "error" : "wait";
}

/** True if an open Branch is to have the name of the parent, and does not itself wait for this one. */
function isParentComing(child: TrackedBranch, open: readonly TrackedBranch[]): boolean {
  const { object, project } = child;
  const { branchListing: listing } = project;
  const others = open.filter((other) => other !== child);
  return others.some((other) => {
    if (other.project !== project || branchNameOf(other.object) !== object.spec.parent?.branchName) return false;
    const isThere = listing !== undefined && parentOf({ object: other.object, listing }).kind === "found";
    return isThere || isParentComing(other, others);
  });
}

/** True if a Branch may still be given its branch: nothing that a person has to change is in the way. */
export function isOpen({ action }: BranchDryRun): boolean {
  return action.kind !== "show" || branchReasons[action.reason].reconciling;
}
