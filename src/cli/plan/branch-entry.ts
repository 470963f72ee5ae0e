import type { ListedBranch } from "../../api/branch.ts";
import type { BranchWrite } from "../../operator/branch/action.ts";
import { isBeingDeleted } from "../../operator/branch/observation.ts";
import { drift } from "../../operator/branch/plan/expiry.ts";
import { type BranchReason, branchReasons } from "../../operator/branch/reasons.ts";
import { nameOf } from "../../operator/kube/objects.ts";
import { branchNameOf, expiryInWords } from "../../operator/resources/branch.ts";
import type { TrackedBranch } from "./branch-inventory.ts";
import { keeperOfBranch } from "./branch-left-to-operator.ts";
import type { BranchDryRun } from "./carry-out-branch.ts";
import type { CommandScope } from "./inventory.ts";
import { saidOfBranch } from "./messages.ts";
import type { FieldChange, PlanStep } from "./plan-entry.ts";
import type { UndeclaredBranch } from "./prune-branches.ts";

/** The plan of one Branch: a line of the text, a row of the table, an item of the JSON. */
export interface BranchEntry {
  /** The Branch, as `namespace/name`. */
  object: string;
  project: string;
  /** The name that the branch has at the service. */
  name: string;
  step: PlanStep;
  /** The service's id of the branch. */
  id?: string;
  /** An existing branch is adopted. */
  adopts?: true;
  /** The operator that keeps the branch, as its note says; only where no cluster was read. */
  keptBy?: string;
  fields: readonly FieldChange[];
  /** A condition reason of the Branch. */
  reason?: string;
  message?: string;
}

type What = Pick<BranchEntry, "step" | "fields" | "reason" | "message">;

export function branchEntryOf(
  { action, observed, adopted }: BranchDryRun,
  tracked: TrackedBranch,
  scope: CommandScope,
): BranchEntry {
  const { object } = tracked;
  const linked = observed.kind === "observed" ? observed.linked?.listed : undefined;
  const keptBy = scope.cluster ? undefined : keeperOfBranch(linked);
  return {
    object: nameOf(object.metadata),
    project: object.spec.projectID,
    name: linked?.name ?? branchNameOf(object),
    ...(linked === undefined ? {} : { id: linked.id }),
    ...(adopted ? { adopts: true as const } : {}),
    ...(keptBy === undefined ? {} : { keptBy }),
    ...whatOf({ action, observed, adopted }, tracked),
  };
}

/** A branch that apply made and that stays, because `--prune-branches` is not set. */
export function keptEntryOf({ listed, place, project }: UndeclaredBranch): BranchEntry {
  const message = "no manifest declares it any more; apply keeps it without --prune-branches.";
  const { id, name = id } = listed;
  return { object: place, project: project.id, name, id, step: "none", fields: [], message };
}

function whatOf({ action, observed }: BranchDryRun, tracked: TrackedBranch): What {
  switch (action.kind) {
    case "write":
      return whatOfWrite(action.write, tracked, observed.kind === "observed" ? observed.linked?.listed : undefined);
    case "show": {
      const isDrifted = action.reason === "Drifted" && tracked.endIsAssumed === true;
      const isLater = isDrifted && observed.kind === "observed" && drift(observed) !== undefined;
      const message = isLater ? saidOfBranch.laterEnd(observed.linked?.listed.expires_at) : action.message;
      return { step: stepOf(action.reason, tracked), fields: [], reason: action.reason, message };
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
const unproblematic: readonly BranchReason[] = ["Available", "Drifted", "Expired"];

function stepOf(reason: BranchReason, { object }: TrackedBranch): PlanStep {
  if (unproblematic.includes(reason)) return "none";
  const { stalled, synced } = branchReasons[reason];
  if (stalled === true) return "refuse";
  const isHindered = synced === "compared" && reason !== "Paused";
  if (isHindered) return "error";
  const isObstacle = reason === "InUse" || reason === "HasChildren";
  return isObstacle && isBeingDeleted(object) ? "refuse" : "wait";
}
