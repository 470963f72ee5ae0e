import { refuseWhileBusy, refuseWhileLocked } from "../computes/lock.ts";
import { refuseProtected } from "../computes/protection.ts";
import type { ServiceContext } from "../context.ts";
import { refuseLong } from "../kept-size.ts";
import { refusals, required, stored } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import type { Project } from "../store/projects.ts";
import { type CreatedBranch, insertBranch } from "./creation.ts";
import { refuseExpiringParent, refuseExpiry, ttlSeconds } from "./expiry.ts";
import { checkPast } from "./history.ts";
import { beginningOf, pointOf } from "./history-point.ts";
import { refuseBeyondLimit, refuseProtectedBeyondLimit, refuseRootBeyondLimit } from "./limits.ts";
import { removeBranch } from "./recovery.ts";
import type { ChangedBranch, NewBranchBody } from "./requests.ts";

/** Creates a branch from another one, with its roles and databases, and the requested computes. */
export function createBranch(
  context: ServiceContext,
  project: Project,
  wanted: NewBranchBody,
  at: number,
): CreatedBranch {
  const { branches } = context.store;
  const { name, parent_id, parent_lsn, parent_timestamp, init_source = "parent-data" } = wanted.branch ?? {};
  const source = required(
    "parent branch",
    parent_id === undefined ? branches.default(project.id) : branches.get(project.id, parent_id),
  );
  refuseTaken(context, project, name);
  const asked = { lsn: parent_lsn, timestamp: parent_timestamp };
  const point = pointOf(asked, "a branch begins at parent_lsn or at parent_timestamp, not at both");
  const past = checkPast(context, { project, branch: source }, "parent", point, at);
  if (init_source !== "schema-only") refuseExpiringParent(source);
  const isProtected = wanted.branch?.protected ?? false;
  const expiresAt = wanted.branch?.expires_at;
  refuseExpiry({ isDefault: false, isProtected }, expiresAt, at);
  const endpoints = wanted.endpoints ?? [];
  if (endpoints.filter(({ type }) => type === "read_write").length > 1) throw refusals.secondPrimary();
  refuseBeyondLimit(context, project);
  if (init_source === "schema-only") refuseRootBeyondLimit(context, project);
  if (isProtected) refuseProtectedBeyondLimit(context, project);
  refuseLong("annotation_value", wanted.annotation_value, () => context.store.branches.lengthOfDetails(project.id));
  refuseWhileLocked(context, project.id);
  // The roles and databases are those of data that may never come.
  if (source.currentState === "resetting") throw refusals.projectBusy();
  const details = {
    init_source,
    annotations: wanted.annotation_value ?? {},
    ...beginningOf(point),
    ...(expiresAt !== undefined && { ttl_interval_seconds: ttlSeconds(expiresAt, at) }),
  };
  // A schema-only branch is a root branch: it only starts with the other one's schema.
  const parentId = init_source === "schema-only" ? undefined : source.id;
  const branch = { name, parentId, isDefault: false, isProtected, details, expiresAt };
  const created = insertBranch(context, project, branch, endpoints, at);
  const schemaOnly = init_source !== "parent-data";
  context.catalog.copyToNew(source.id, created.branch.id, at, { point: past, schemaOnly });
  return created;
}

/** Changes a branch; omitted fields keep their values. */
export function changeBranch(
  context: ServiceContext,
  project: Project,
  before: Branch,
  wanted: ChangedBranch,
  at: number,
): Branch {
  if (wanted.name !== undefined && wanted.name !== before.name) refuseTaken(context, project, wanted.name);
  const expiresAt = wanted.expires_at === undefined ? before.expiresAt : (wanted.expires_at ?? undefined);
  const after = {
    ...before,
    name: wanted.name ?? before.name,
    isProtected: wanted.protected ?? before.isProtected,
    expiresAt,
  };
  if (expiresAt !== undefined && expiresAt !== before.expiresAt) {
    if (context.store.branches.hasChildren(before)) {
      throw refusals.unprocessable("a branch that has child branches cannot expire");
    }
    after.details = { ...before.details, ttl_interval_seconds: ttlSeconds(expiresAt, at) };
  }
  refuseExpiry(after, expiresAt === before.expiresAt ? undefined : expiresAt, at);
  if (after.isProtected && expiresAt !== undefined) throw refusals.unprocessable("a protected branch cannot expire");
  if (after.isProtected && !before.isProtected) refuseProtectedBeyondLimit(context, project);
  if (JSON.stringify(after) === JSON.stringify(before)) return before;
  context.store.branches.update(after, at);
  return storedBranch(context, after);
}

/** Makes a branch the default branch of its project. */
export function makeDefault(context: ServiceContext, branch: Branch, at: number): Branch {
  if (branch.isDefault) return branch;
  if (branch.expiresAt !== undefined)
    throw refusals.unprocessable("a branch that expires cannot be the default branch");
  context.store.branches.setDefault(branch, at);
  return storedBranch(context, branch);
}

/** Deletes a branch with its computes; a `hard` deletion cannot be taken back. */
export function deleteBranch(
  context: ServiceContext,
  project: Project,
  branch: Branch,
  { at, hard }: { at: number; hard: boolean },
): void {
  if (branch.isDefault) throw refusals.unprocessable("the default branch of a project cannot be deleted");
  refuseProtected(branch, "a protected branch cannot be deleted");
  if (context.store.branches.hasChildren(branch)) {
    throw refusals.unprocessable("a branch that has child branches cannot be deleted");
  }
  refuseWhileBusy(context, project.id);
  if (context.store.branchData.isSource(branch.id)) {
    throw refusals.unprocessable(
      "a branch whose data another one is still to get cannot be deleted: start a compute on that one, or delete it",
    );
  }
  removeBranch(context, branch, { method: "user", hard }, at);
}

/** The branch as stored. */
export function storedBranch({ store }: ServiceContext, { id, projectId }: Branch): Branch {
  return stored(`branch ${id}`, store.branches.get(projectId, id));
}

/** Refuses a name that another branch of the project has, also one that was deleted and can be recovered. */
export function refuseTaken(context: ServiceContext, project: Project, name: string | undefined): void {
  if (name !== undefined && context.store.branches.isTaken(project.id, name)) throw refusals.branchExists(name);
}
