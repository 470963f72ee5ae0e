import { computeUnitSizes, maxConnections } from "../../api/compute-units.ts";
import type { ServiceContext } from "../context.ts";
import type { Branch } from "../store/branches.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";

/** The usage of a project's computes. */
export interface Usage {
  /** Active time in seconds, summed over computes. */
  activeSeconds: number;
  /** Active time times compute units: CPU seconds. */
  computeSeconds: number;
}

/**
 * Records the usage of an active compute until now, at its present size. To be called before it changes size or state,
 * before a client connects or leaves, and before it is deleted.
 */
export function meter(context: ServiceContext, endpoint: StoredEndpoint, at: number): void {
  const { active, compute } = unbooked(context, endpoint, at);
  if (active > 0) {
    context.store.projects.addUsage(endpoint.projectId, active, compute);
    context.store.branches.addUsage(endpoint.branchId, active, compute);
  }
  endpoint.meteredAt = endpoint.currentState === "active" ? at : undefined;
}

/** The usage of all computes of a project, deleted ones included. */
export function usageOf(context: ServiceContext, project: Project, at: number): Usage {
  return usage(context, project, context.store.endpoints.metered(project.id), at);
}

/** The usage of all computes of a branch. */
export function usageOfBranch(context: ServiceContext, branch: Branch, at: number): Usage {
  return usage(context, branch, context.store.endpoints.meteredOn(branch.projectId, branch.id), at);
}

function usage(
  context: ServiceContext,
  booked: { activeMs: number; computeMs: number },
  running: readonly StoredEndpoint[],
  at: number,
): Usage {
  const more = running.map((endpoint) => unbooked(context, endpoint, at));
  const active = more.reduce((sum, one) => sum + one.active, booked.activeMs);
  const compute = more.reduce((sum, one) => sum + one.compute, booked.computeMs);
  return { activeSeconds: Math.floor(active / 1000), computeSeconds: Math.floor(compute / 1000) };
}

/** In milliseconds of the service's scaled time. */
function unbooked(context: ServiceContext, endpoint: StoredEndpoint, at: number) {
  const { meteredAt } = endpoint;
  const active = meteredAt === undefined ? 0 : Math.round(Math.max(0, at - meteredAt) * context.options.timeScale);
  return { active, compute: active === 0 ? 0 : Math.round(active * sizeInUse(context, endpoint)) };
}

/**
 * The size that autoscaling gives a compute, in compute units: the smallest of its range whose connection limit covers
 * the open connections, which are the only load in this model.
 */
function sizeInUse({ backend }: ServiceContext, endpoint: StoredEndpoint): number {
  const { minCu, maxCu } = endpoint;
  if (minCu === maxCu) return minCu;
  const open = backend.connections(endpoint, false);
  const range = computeUnitSizes.filter((size) => size >= minCu && size <= maxCu);
  return range.find((size) => maxConnections({ min: size, max: size }) >= open) ?? maxCu;
}
