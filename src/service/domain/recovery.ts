import { planOf } from "../accounts/owner.ts";
import { mostComputes, refuseTooManyComputes } from "../computes/create.ts";
import { checkPlan } from "../computes/limits.ts";
import { meterBranch } from "../computes/meter.ts";
import type { ServiceContext } from "../context.ts";
import { refusals, required } from "../refusal.ts";
import type { Branch, DeletionMethod } from "../store/branches.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";
import { refuseExpiringParent } from "./expiry.ts";
import { mostBranches, refuseBeyondLimit, refuseRootBeyondLimit } from "./limits.ts";

/** Time for which a deleted branch can be recovered, in milliseconds: seven days. */
const recoverableMs = 7 * 86_400_000;

/**
 * Removes a branch with its computes, whatever is in progress on them. With `branchRecovery` it is only hidden: its
 * data, roles, databases and computes come back with it, and its name stays taken until it is forgotten: after seven
 * days, or once its project has deleted as many others, or as many computes, since as it may have.
 */
export function removeBranch(
  context: ServiceContext,
  branch: Branch,
  { method, hard = false }: { method: DeletionMethod; hard?: boolean },
  at: number,
): void {
  const { branches, endpoints, projects } = context.store;
  const recoverable = context.options.branchRecovery && !hard;
  meterBranch(context, branch, at);
  endpoints.deleteOfBranch(branch, recoverable);
  if (!recoverable) return branches.delete(branch.id);
  branches.hide(branch.id, { at, until: at + recoverableMs, method });
  const project = required("project", projects.get(branch.projectId));
  branches.forgetBeyond(project.id, mostBranches(context.store, project), at);
  if (endpoints.countDeleted(project.id) > mostComputes) branches.forgetComputesBeyond(project.id, mostComputes, at);
}

/** Brings a deleted branch back, with its computes, idle, and without an end. It needs the room of a new one. */
export function recoverBranch(
  context: ServiceContext,
  project: Project,
  id: string,
  at: number,
): { branch: Branch; endpoints: Iterable<StoredEndpoint> } {
  const { branches, endpoints, operations } = context.store;
  const deleted = required("deleted branch", branches.deleted(project.id, id));
  // An operation that the end has overtaken would start its compute, also a disabled one.
  if (operations.anyUnfinishedOn(project.id, id)) throw refusals.projectBusy();
  const parent = deleted.parentId === undefined ? undefined : branches.get(project.id, deleted.parentId);
  if (deleted.parentId !== undefined && !parent) {
    throw refusals.unprocessable(`the parent of the branch was deleted too: recover ${deleted.parentId} first`);
  }
  if (parent) refuseExpiringParent(parent);
  refuseBeyondLimit(context, project);
  if (!parent) refuseRootBeyondLimit(context, project);
  const kept = endpoints.deletedOf(id);
  refuseTooManyComputes(context, project, kept.count);
  const plan = planOf(context.store, project.owner);
  for (const shape of kept.shapes) checkPlan(context.options.rules, plan, shape);
  branches.unhide(id);
  branches.update({ ...deleted, expiresAt: undefined }, at);
  endpoints.recoverOfBranch(deleted, at);
  return { branch: required("branch", branches.get(project.id, id)), endpoints: endpoints.on(id) };
}
