import type { ServiceContext } from "../context.ts";
import type { Branch } from "../store/branches.ts";
import type { Owner, Project } from "../store/projects.ts";
import type { Look, UsageMs } from "../store/unbooked.ts";
import { dayMs, hourOf, sizeWith } from "./meter.ts";

/** The usage of a project's computes. */
export interface Usage {
  /** Active time in seconds, summed over computes. */
  activeSeconds: number;
  /** Active time times compute units: CPU seconds. */
  computeSeconds: number;
}

/** A look at what is not recorded yet. */
export function lookAt({ store, backend, options }: ServiceContext, at: number): Look {
  const open = backend.directConnections();
  const serving = open.size === 0 ? [] : store.endpoints.meteredAmong([...open.keys()]);
  const sizes = serving.map((one) => [one.id, sizeWith(options.rules, one, open.get(one.id) ?? 0)] as const);
  return { at, timeScale: options.timeScale, sizes: Object.fromEntries(sizes) };
}

/** The compute time of some owners' projects since the beginning of some days, in seconds. */
export function computeSecondsSince(
  context: ServiceContext,
  owners: readonly Owner[],
  days: readonly number[],
  at: number,
): number[] {
  const { projects, unbooked } = context.store;
  const booked = projects.computeMsSince(
    owners,
    days.map((day) => day * 24),
    hourOf(at),
  );
  const times = days.map((day) => day * dayMs);
  return unbooked.since(owners, times, lookAt(context, at)).map((ms, n) => seconds((booked[n] ?? 0) + ms));
}

/** The usage of all computes of a project, deleted ones included. */
export function usageOf(context: ServiceContext, project: Project, at: number): Usage {
  return usageOfProjects(context, [project.id], at)(project);
}

/** The usage of projects, each asked for on its own: for lists of many. */
export function usageOfProjects(
  context: ServiceContext,
  ids: readonly string[],
  at: number,
): (project: Project) => Usage {
  return added(context.store.unbooked.ofProjects(ids, lookAt(context, at)));
}

/** The usage of all computes of a branch. */
export function usageOfBranch(context: ServiceContext, branch: Branch, at: number): Usage {
  return added(context.store.unbooked.ofBranches(branch.projectId, lookAt(context, at), branch.id))(branch);
}

/** The usage of branches of one project, each asked for on its own: for pages of many. */
export function usageOfBranches(context: ServiceContext, projectId: string, at: number): (branch: Branch) => Usage {
  return added(context.store.unbooked.ofBranches(projectId, lookAt(context, at)));
}

/** The usage that is recorded and that which is not, together. */
function added(unbooked: ReadonlyMap<string, UsageMs>): (booked: UsageMs & { id: string }) => Usage {
  return ({ id, activeMs, computeMs }) => {
    const more = unbooked.get(id) ?? { activeMs: 0, computeMs: 0 };
    return { activeSeconds: seconds(activeMs + more.activeMs), computeSeconds: seconds(computeMs + more.computeMs) };
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
