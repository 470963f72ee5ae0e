import type { ComputeUnitRange } from "../../api/compute-units.ts";
import { defaultSuspend } from "../../api/scale-to-zero.ts";
import { planOf } from "../accounts/owner.ts";
import type { ServiceContext } from "../context.ts";
import { refuseLong } from "../kept-size.ts";
import { refusals, required } from "../refusal.ts";
import { initialAttributes, withRequested } from "../store/compute-attributes.ts";
import type { DefaultEndpointSettings } from "../store/details.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import type { Project } from "../store/projects.ts";
import { schedule, steps } from "./chain.ts";
import { checkSettings, checkSizes, checkSuspension, refuseBeyondOwner, sizesOf } from "./limits.ts";
import { refuseWhileLocked } from "./lock.ts";
import type { NewEndpoint } from "./requests.ts";

/** A compute and the operations that a change of it set off. */
export interface Changed {
  endpoint: StoredEndpoint;
  operations: StoredOperation[];
}

/** Creates a compute on a branch and starts it, unless it is disabled from the start. */
export function createEndpoint(context: ServiceContext, project: Project, wanted: NewEndpoint, at: number): Changed {
  const { branches, endpoints } = context.store;
  const branch = required("branch", branches.get(project.id, wanted.branch_id));
  if (wanted.region_id !== undefined && wanted.region_id !== project.regionId) {
    throw refusals.invalid(`region_id must be the project's region, ${project.regionId}, or be left out`);
  }
  if (wanted.type === "read_write" && endpoints.primaryOf(branch.id)) throw refusals.secondPrimary();
  if (branch.currentState !== "ready") throw refusals.notReady("branch");
  refuseTooManyComputes(context, project, 1);
  refuseFullBranch(context, branch.id);
  const endpoint = newEndpoint(context, project, wanted, at);
  if (endpoint.disabled) {
    endpoints.insert({ ...endpoint, currentState: "idle" });
    return { endpoint: { ...endpoint, currentState: "idle" }, operations: [] };
  }
  refuseWhileLocked(context, project.id);
  endpoints.insert(endpoint);
  return { endpoint, operations: schedule(context, { endpoint, at, pendingState: "active" }, [steps.start]) };
}

/** The most computes of a project: its list is not paged, and is made for everybody to wait for. */
export const mostComputes = 5000;

/** Refuses more computes than a project may have. */
export function refuseFullProject({ store }: ServiceContext, { id }: Project, more: number): void {
  if (store.endpoints.count(id) + more <= mostComputes) return;
  throw refusals.limitExceeded("computes", `a project has at most ${mostComputes} computes`);
}

/** Refuses more computes than a project, or all of its owner's together, may have. */
export function refuseTooManyComputes(context: ServiceContext, project: Project, more: number): void {
  refuseFullProject(context, project, more);
  refuseBeyondOwner(context, project.owner, "computes", more);
}

/** The most computes of a branch: they go with it in one turn of the loop. */
const mostOnBranch = 1000;

/** Refuses one more compute on a branch that has as many as it may have. */
export function refuseFullBranch({ store }: ServiceContext, branchId: string): void {
  if (store.endpoints.countsOf(branchId).all < mostOnBranch) return;
  throw refusals.limitExceeded("computes", `a branch has at most ${mostOnBranch} computes`);
}

/**
 * A compute as it comes into being: in state `init`, within the owner's limits. What the request leaves out is as the
 * project has it for its computes, or has a default.
 */
export function newEndpoint(
  context: ServiceContext,
  project: Project,
  wanted: NewEndpoint,
  at: number,
): StoredEndpoint {
  const { pg_settings = {}, pgbouncer_settings, ...usual } = project.details.default_endpoint_settings ?? {};
  const sizes = usualSizes(usual, wanted);
  const suspendTimeoutSeconds = wanted.suspend_timeout_seconds ?? usual.suspend_timeout_seconds ?? defaultSuspend;
  const plan = planOf(context.store, project.owner);
  checkSizes(context.options.rules, plan, sizes);
  checkSuspension(context.options.rules, plan, suspendTimeoutSeconds);
  const settings = wanted.settings ?? { pg_settings, ...(pgbouncer_settings && { pgbouncer_settings }) };
  refuseLong("settings", settings, () => context.store.endpoints.lengthOfSettings(project.id));
  checkSettings(context, project, { type: wanted.type, minCu: sizes.min, maxCu: sizes.max, settings });
  return {
    id: `ep-${context.ids.name()}`,
    projectId: project.id,
    branchId: wanted.branch_id,
    type: wanted.type,
    name: context.options.strictSpec ? undefined : wanted.name,
    ...withRequested(initialAttributes, wanted),
    minCu: sizes.min,
    maxCu: sizes.max,
    suspendTimeoutSeconds,
    settings,
    currentState: "init",
    pendingState: undefined,
    lastActive: undefined,
    startedAt: undefined,
    suspendedAt: undefined,
    suspendDue: undefined,
    meteredAt: undefined,
    createdAt: at,
    updatedAt: at,
  };
}

/** The sizes that are asked for; where none are, the project's own for its computes. */
function usualSizes(usual: DefaultEndpointSettings, wanted: NewEndpoint): ComputeUnitRange {
  const { autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max } = wanted;
  if (min !== undefined || max !== undefined) return sizesOf(min, max);
  return sizesOf(usual.autoscaling_limit_min_cu, usual.autoscaling_limit_max_cu);
}
