import { planOf } from "../accounts/owner.ts";
import { timestamp, wholeSeconds } from "../clock.ts";
import { proxyHost } from "../computes/hosts.ts";
import { restrictedActions } from "../computes/protection.ts";
import { type Usage, usageOf, usageOfBranch } from "../computes/usage.ts";
import type { ServiceContext } from "../context.ts";
import type { Branch, Deletion } from "../store/branches.ts";
import type { Project } from "../store/projects.ts";

const mebibyte = 1024 ** 2;

/** Size limit of a branch's data in MiB, by the owner's plan. */
function branchSizeLimit(plan: string): number {
  return plan === "free" ? 512 : 16 * 1024 * 1024;
}

/** A project in lists. */
export function projectListView(context: ServiceContext, project: Project, usage: Usage) {
  const limit = branchSizeLimit(planOf(context.store, project.owner));
  const shown = {
    id: project.id,
    name: project.name,
    platform_id: project.regionId.split("-")[0] ?? "aws",
    region_id: project.regionId,
    provisioner: "k8s-neonvm",
    pg_version: project.pgVersion,
    cpu_used_sec: usage.computeSeconds,
    locked: false,
    branch_logical_size_limit: limit,
    proxy_host: proxyHost(context.options, project.regionId),
    created_at: timestamp(project.createdAt),
    updated_at: timestamp(project.updatedAt),
  };
  if (context.options.strictSpec) return shown;
  const organization =
    project.owner.kind === "organization" ? context.store.accounts.organization(project.owner.id) : undefined;
  return {
    ...shown,
    branch_logical_size_limit_bytes: limit * mebibyte,
    ...project.details,
    settings: settingsView(project),
    active_time: usage.activeSeconds,
    creation_source: "console",
    owner_id: project.owner.id,
    ...(organization && { org_id: organization.id, org_name: organization.name }),
  };
}

/** A project's settings. Clients read `allowed_ips` without checking that it exists, so it always does. */
function settingsView({ details: { settings = {} } }: Project) {
  return {
    enable_logical_replication: false,
    block_public_connections: false,
    block_vpc_connections: false,
    ...settings,
    allowed_ips: { ips: [], protected_branches_only: false, ...fieldsOf(settings["allowed_ips"]) },
  };
}

function fieldsOf(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

/** A project in the answer of its own call. */
export function projectView(context: ServiceContext, project: Project, at: number) {
  const usage = usageOf(context, project, at);
  return {
    ...projectListView(context, project, usage),
    ...lastActive(context, project),
    data_storage_bytes_hour: 0,
    data_transfer_bytes: 0,
    written_data_bytes: 0,
    compute_time_seconds: usage.computeSeconds,
    active_time_seconds: usage.activeSeconds,
    ...consumptionPeriod(at),
  };
}

function lastActive(context: ServiceContext, { id }: Project): { compute_last_active_at?: string } {
  const at = context.store.endpoints.lastActive(id);
  return at === undefined ? {} : { compute_last_active_at: timestamp(at) };
}

/** The calendar month, in UTC. */
function consumptionPeriod(at: number) {
  const now = new Date(at);
  const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  return { consumption_period_start: timestamp(start), consumption_period_end: timestamp(end) };
}

/** A branch in the API's form, maybe one that was deleted and can be recovered. */
export function branchView(
  context: ServiceContext,
  branch: Branch & { deletion?: Deletion | undefined },
  at: number,
  usage = usageOfBranch(context, branch, at),
) {
  const { annotations: _, ttl_interval_seconds, ...details } = branch.details;
  return {
    id: branch.id,
    project_id: branch.projectId,
    ...(branch.parentId !== undefined && { parent_id: branch.parentId }),
    name: branch.name,
    current_state: branch.currentState,
    ...(branch.currentState !== "ready" && { pending_state: "ready" }),
    state_changed_at: timestamp(branch.stateChangedAt),
    creation_source: "console",
    ...details,
    ...(branch.expiresAt !== undefined && { expires_at: wholeSeconds(branch.expiresAt), ttl_interval_seconds }),
    default: branch.isDefault,
    primary: branch.isDefault,
    protected: branch.isProtected,
    ...(branch.isProtected && { restricted_actions: restrictedActions }),
    cpu_used_sec: usage.computeSeconds,
    active_time_seconds: usage.activeSeconds,
    compute_time_seconds: usage.computeSeconds,
    written_data_bytes: 0,
    data_transfer_bytes: 0,
    created_at: timestamp(branch.createdAt),
    updated_at: timestamp(branch.updatedAt),
    ...(branch.deletion && { recovery: recoveryView(branch.deletion) }),
  };
}

function recoveryView({ at, until, method }: Deletion) {
  return { deleted_at: timestamp(at), recoverable_until: timestamp(until), deletion_method: method };
}

/** A client's annotation of a branch. */
export function annotationView({ id, details, createdAt, updatedAt }: Branch) {
  return {
    object: { type: "console/branch", id },
    value: details.annotations,
    created_at: timestamp(createdAt),
    updated_at: timestamp(updatedAt),
  };
}
