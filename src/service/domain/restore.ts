import { timestamp } from "../clock.ts";
import { enqueue } from "../computes/chain.ts";
import { refuseWhileBusy } from "../computes/lock.ts";
import { refuseProtected } from "../computes/protection.ts";
import { restartRunning } from "../computes/restart-running.ts";
import type { ServiceContext } from "../context.ts";
import { refuseLong } from "../kept-size.ts";
import { refusals, required } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import type { StoredOperation } from "../store/operations.ts";
import type { Project } from "../store/projects.ts";
import { refuseTaken, storedBranch } from "./branches.ts";
import { insertBranch } from "./creation.ts";
import { expiryAfterReset, refuseExpiringParent } from "./expiry.ts";
import { checkPast } from "./history.ts";
import { beginningOf, pointOf } from "./history-point.ts";
import { refuseBeyondLimit } from "./limits.ts";
import type { BranchRestore } from "./requests.ts";

/**
 * Gives a branch the state of another branch, or an earlier state of its own. The previous state can be kept under a
 * new name; then the branch's children belong to that. Running computes restart. A branch with an end begins its
 * interval again when it is reset to its parent, and the roles of a protected branch's child get new passwords. The
 * model keeps no history: an earlier state of the branch equals its present one.
 */
export function restoreBranch(
  context: ServiceContext,
  project: Project,
  branch: Branch,
  wanted: BranchRestore,
  at: number,
): { branch: Branch; operations: StoredOperation[] } {
  const { branches } = context.store;
  refuseProtected(branch, "a protected branch cannot be restored");
  const { source_branch_id, source_lsn, source_timestamp, preserve_under_name } = wanted;
  const source = required("source branch", branches.get(project.id, source_branch_id));
  const itself = source.id === branch.id;
  if (!itself) refuseExpiringParent(source);
  const asked = { lsn: source_lsn, timestamp: source_timestamp };
  const point = pointOf(asked, "a branch is restored to source_lsn or to source_timestamp, not to both");
  refuseIncomplete({ itself, point, preserve_under_name }, branches.hasChildren(branch));
  const past = checkPast(context, { project, branch: source }, "source", point, at);
  refuseTaken(context, project, preserve_under_name);
  if (preserve_under_name !== undefined) refuseBeyondLimit(context, project);
  refuseWhileBusy(context, project.id);

  const backup =
    preserve_under_name === undefined ? undefined : keep(context, project, branch, preserve_under_name, at);
  if (backup) branches.giveChildren(branch, backup.branch.id, at);
  if (!itself) context.catalog.replace(source.id, branch.id, at, past, backup?.branch.id);
  else if (backup && past) context.catalog.rewind(backup.branch.id, branch.id, past);
  if (source.isProtected) for (const role of context.catalog.roles(branch.id)) context.catalog.resetPassword(role, at);
  const { parent_lsn: _, parent_timestamp: __, ...others } = branch.details;
  const details = {
    ...others,
    last_reset_at: timestamp(at),
    ...beginningOf(point),
  };
  const parentId = itself ? backup?.branch.id : source.id;
  const expiresAt = source.id === branch.parentId ? expiryAfterReset(branch, at) : branch.expiresAt;
  branches.update({ ...branch, parentId, details, expiresAt }, at);
  const restarts = restartRunning(context, { branchId: branch.id }, at);
  const own = restarts.length > 0 ? restarts : replaced(context, branch, at);
  if (own.length > 0) branches.setState(branch.id, "resetting", at);
  return { branch: storedBranch(context, branch), operations: [...(backup?.operations ?? []), ...own] };
}

/**
 * Replaces the data of a branch that no running compute serves: where real servers hold it, the copy begins now, and
 * not when a compute next wakes. The model has no data, and no operation for it.
 */
function replaced(context: ServiceContext, { id: branchId, projectId }: Branch, at: number): StoredOperation[] {
  if (!context.backend.address) return [];
  const of = { projectId, branchId, endpointId: undefined, chain: undefined };
  return [enqueue(context, { ...of, action: "create_branch", effect: "branch-ready", durationMs: 0 }, at)];
}

function refuseIncomplete(
  { itself, point, preserve_under_name }: { itself: boolean; point: unknown; preserve_under_name: string | undefined },
  hasChildren: boolean,
): void {
  if (itself && point === undefined) {
    throw refusals.invalid("source_timestamp or source_lsn is needed to restore a branch from its own history");
  }
  if ((itself || hasChildren) && preserve_under_name === undefined) {
    throw refusals.invalid(
      "preserve_under_name is needed for a branch that has child branches or is restored from its own history",
    );
  }
}

function keep(context: ServiceContext, project: Project, branch: Branch, name: string, at: number) {
  const { parentId, details } = branch;
  refuseLong("annotation", details.annotations, () => context.store.branches.lengthOfDetails(project.id));
  const kept = { name, parentId, isDefault: false, isProtected: false, details, expiresAt: undefined };
  const made = insertBranch(context, project, kept, [], at);
  context.catalog.copyToNew(branch.id, made.branch.id, at);
  return made;
}
