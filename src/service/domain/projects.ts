import type { ComputeUnitRange } from "../../api/compute-units.ts";
import { defaultSuspend } from "../../api/scale-to-zero.ts";
import { planOf } from "../accounts/owner.ts";
import { checkSettings, checkSizes, checkSuspension, refuseBeyondOwner, sizesOf } from "../computes/limits.ts";
import { refuseWhileBusy } from "../computes/lock.ts";
import { restartRunning } from "../computes/restart-running.ts";
import type { ServiceContext } from "../context.ts";
import { refuseLong } from "../kept-size.ts";
import { refusals, stored } from "../refusal.ts";
import type { DefaultEndpointSettings } from "../store/details.ts";
import { ProjectDetails } from "../store/details.ts";
import type { StoredOperation } from "../store/operations.ts";
import type { Owner, Project } from "../store/projects.ts";
import { type CreatedBranch, insertBranch } from "./creation.ts";
import { refuseProjectsBeyondLimit } from "./limits.ts";
import { replicatesLogically } from "./replication.ts";
import type { ChangedProject, NewProject } from "./requests.ts";

/** The role and the database that every project starts with, unless it names others. */
const defaultRole = "neondb_owner";
const defaultDatabase = "neondb";

/** Creates a project with its default branch and that branch's primary compute, which is started. */
export function createProject(
  context: ServiceContext,
  owner: Owner,
  wanted: NewProject,
  at: number,
): CreatedBranch & { project: Project } {
  refuseProjectsBeyondLimit(context, owner, 1);
  refuseBeyondOwner(context, owner, "branches", 1);
  const { store_passwords, history_retention_seconds, settings, provisioner } = wanted;
  const default_endpoint_settings = usualSettings(wanted);
  const pgVersion = wanted.pg_version ?? 17;
  const { oldestMajor } = context.backend;
  if (pgVersion < oldestMajor)
    throw refusals.invalid(`pg_version: Postgres ${oldestMajor} is the oldest that runs here`);
  checkUsual(context, { owner, pgVersion }, default_endpoint_settings);
  const lengthOfOthers = () => context.store.projects.lengthOfDetails(owner);
  refuseLong("settings", settings, lengthOfOthers);
  const id = context.ids.name();
  context.store.projects.insert({
    id,
    name: wanted.name ?? id,
    owner,
    regionId: wanted.region_id ?? "aws-us-east-2",
    pgVersion,
    details: ProjectDetails.parse({ store_passwords, history_retention_seconds, settings, default_endpoint_settings }),
    createdAt: at,
    updatedAt: at,
  });
  const project = stored(`project ${id}`, context.store.projects.get(id));
  const { name = "main", role_name, database_name, annotations = {} } = wanted.branch ?? {};
  refuseLong("annotations", annotations);
  const details = { init_source: "parent-data" as const, annotations };
  const branch = { name, parentId: undefined, isDefault: true, isProtected: false, details, expiresAt: undefined };
  const primary = { type: "read_write" as const, provisioner };
  const created = insertBranch(context, project, branch, [primary], at);
  seedBranch(context, created.branch.id, at, { role: role_name, database: database_name });
  return { project, ...created };
}

/** Gives a root branch its first role and database. */
export function seedBranch(
  context: ServiceContext,
  branchId: string,
  at: number,
  { role = defaultRole, database = defaultDatabase }: { role?: string | undefined; database?: string | undefined } = {},
): void {
  context.catalog.createFirstRole(branchId, role, at);
  context.catalog.createDatabase(branchId, { name: database, ownerName: role }, at);
}

/** Changes a project; omitted settings keep their values. Logical replication restarts the computes that run. */
export function changeProject(
  context: ServiceContext,
  project: Project,
  wanted: ChangedProject,
  at: number,
): { project: Project; operations: StoredOperation[] } {
  const { default_endpoint_settings, settings, history_retention_seconds, name } = wanted;
  const { details: before } = project;
  const usual = default_endpoint_settings && { ...before.default_endpoint_settings, ...default_endpoint_settings };
  checkUsual(context, project, usual);
  const kept = settings && { ...before.settings, ...settings };
  refuseLong("settings", kept, () => context.store.projects.lengthOfDetails(project.owner));
  const after = {
    name: name ?? project.name,
    details: {
      ...before,
      ...(usual && { default_endpoint_settings: usual }),
      ...(kept && { settings: kept }),
      ...(history_retention_seconds !== undefined && { history_retention_seconds }),
    },
  };
  if (JSON.stringify(after) === JSON.stringify({ name: project.name, details: before })) {
    return { project, operations: [] };
  }
  const begins = replicatesLogically(after) && !replicatesLogically(project);
  if (!replicatesLogically(after) && replicatesLogically(project)) {
    throw refusals.unprocessable(
      "logical replication cannot be disabled once it is enabled (enable_logical_replication)",
    );
  }
  // A compute that is starting would not get it, and one that is being disabled would start.
  if (begins) refuseWhileBusy(context, project.id);
  context.store.projects.change(project.id, after, at);
  const operations = begins ? restartRunning(context, { projectId: project.id }, at) : [];
  return { project: stored(`project ${project.id}`, context.store.projects.get(project.id)), operations };
}

/** Sizes beside `default_endpoint_settings` mean the same and take precedence. */
function usualSettings(wanted: NewProject): DefaultEndpointSettings | undefined {
  const { autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max } = wanted;
  const sizes = {
    ...(min !== undefined && { autoscaling_limit_min_cu: min }),
    ...(max !== undefined && { autoscaling_limit_max_cu: max }),
  };
  const all = { ...wanted.default_endpoint_settings, ...sizes };
  return Object.keys(all).length === 0 ? undefined : all;
}

/** Refuses defaults with which no compute could be created. */
function checkUsual(
  context: ServiceContext,
  project: Pick<Project, "owner" | "pgVersion">,
  usual: DefaultEndpointSettings | undefined,
): void {
  if (!usual) return;
  refuseLong("default_endpoint_settings", usual, () => context.store.projects.lengthOfDetails(project.owner));
  const sizes = usualWithin(context, planOf(context.store, project.owner), usual);
  const { pg_settings = {}, pgbouncer_settings } = usual;
  const settings = { pg_settings, ...(pgbouncer_settings && { pgbouncer_settings }) };
  checkSettings(context, project, { type: "read_write", minCu: sizes.min, maxCu: sizes.max, settings });
}

/** Refuses defaults that a plan does not include; answers their sizes. */
export function usualWithin(
  { options: { rules } }: ServiceContext,
  plan: string,
  usual: DefaultEndpointSettings,
): ComputeUnitRange {
  const sizes = sizesOf(usual.autoscaling_limit_min_cu, usual.autoscaling_limit_max_cu);
  checkSizes(rules, plan, sizes);
  checkSuspension(rules, plan, usual.suspend_timeout_seconds ?? defaultSuspend);
  return sizes;
}
