import { computeUnitSizes } from "../../api/compute-units.ts";
import type { ServiceContext } from "../context.ts";
import type { Branch } from "../store/branches.ts";
import type { MeteredEndpoint, StoredEndpoint } from "../store/endpoints.ts";
import { endpointQuarters, type PartOfPeriod, type Period } from "../store/periods.ts";
import type { Owner, Project } from "../store/projects.ts";

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
  const more = unbooked(context, endpoint, at);
  if (more.activeMs > 0) {
    context.store.projects.addUsage(endpoint.projectId, more);
    context.store.branches.addUsage(endpoint.branchId, more);
    const { usageHours, quarters, days } = context.store;
    for (const part of partsOf(context, endpoint, at, hourMs)) usageHours.add(endpoint.projectId, part);
    for (const part of unbookedQuarters(context, endpoint, at)) quarters.add(endpoint.id, part);
    for (const part of partsOf(context, endpoint, at, dayMs)) days.add(endpoint.id, part);
  }
  notePeak(context, endpoint, at);
  endpoint.meteredAt = endpoint.currentState === "active" ? at : undefined;
}

/**
 * Notes how many computes of the project are active where that changes, and at the first record of each hour: then the
 * largest note of an hour is its peak, unless nothing was recorded in it.
 */
function notePeak({ store }: ServiceContext, endpoint: StoredEndpoint, at: number): void {
  const { projectId, meteredAt } = endpoint;
  const [was, is] = [meteredAt !== undefined, endpoint.currentState === "active"];
  if (is && !was) store.quarters.add(endpoint.id, { index: quarterOf(at), wakes: 1 });
  if (was === is && (meteredAt === undefined || hourOf(meteredAt) === hourOf(at))) return;
  const peak = store.endpoints.countMetered(projectId) + (is && !was ? 1 : 0);
  store.usageHours.add(projectId, { index: hourOf(at), peak });
}

export const hourMs = 3_600_000;

export const dayMs = 24 * hourMs;

/** The first day of a time's week, Monday in UTC, counted from the epoch: that was a Thursday. */
export function weekOf(at: number): number {
  const today = dayOf(at);
  return today - ((today + 3) % 7);
}

/** The days between the epoch and a time. */
export function dayOf(at: number): number {
  return Math.floor(at / dayMs);
}

/** The hours between the epoch and a time. */
export function hourOf(at: number): number {
  return Math.floor(at / hourMs);
}

type Part = Pick<Period, "index" | "activeMs" | "computeMs">;

/** The part of a compute's usage that is not recorded yet, by periods of `unitMs`, none before `since`. */
function partsOf(context: ServiceContext, endpoint: MeteredEndpoint, at: number, unitMs: number, since = 0): Part[] {
  const { meteredAt: from } = endpoint;
  if (from === undefined || at <= from) return [];
  const { computeMs } = unbooked(context, endpoint, at);
  const parts: Part[] = [];
  for (let index = Math.max(since, Math.floor(from / unitMs)); index * unitMs < at; index += 1) {
    const activeMs = Math.min(at, (index + 1) * unitMs) - Math.max(from, index * unitMs);
    parts.push({ index, activeMs, computeMs: Math.round((computeMs * activeMs) / (at - from)) });
  }
  return parts;
}

/** The length of a quarter of an hour, in milliseconds. */
export const quarterMs = hourMs / 4;

function quarterOf(at: number): number {
  return Math.floor(at / quarterMs);
}

function unbookedQuarters(context: ServiceContext, endpoint: StoredEndpoint, at: number): PartOfPeriod[] {
  const peak = context.backend.connections(endpoint, false) + context.backend.connections(endpoint, true);
  const first = quarterOf(at) - endpointQuarters.kept + 1;
  return partsOf(context, endpoint, at, quarterMs, first).map((part) => ({ ...part, peak }));
}

/** The last day of a compute by the quarter of an hour, the present one last. */
export function lastDayOf(context: ServiceContext, endpoint: StoredEndpoint, at: number): Period[] {
  const parts = unbookedQuarters(context, endpoint, at);
  return context.store.quarters.upTo(endpoint.id, quarterOf(at), endpointQuarters.kept, parts);
}

/** The usage of a project in each of the last hours, the present one last. */
export function usageByHour(context: ServiceContext, project: Project, hours: number, at: number): Period[] {
  const running = context.store.endpoints.metered(project.id);
  const parts = running.flatMap((endpoint) => partsOf(context, endpoint, at, hourMs));
  const now = { index: hourOf(at), peak: running.length };
  const found = context.store.usageHours.upTo(project.id, now.index, hours, [...parts, now]);
  return found.map((hour) => ({ ...hour, peak: Math.max(hour.peak, Math.ceil(hour.activeMs / hourMs)) }));
}

/** The compute time since a day that is not recorded yet, in milliseconds, of each running compute of some owners. */
export function unbookedSince(
  context: ServiceContext,
  owners: readonly Owner[],
  day: number,
  at: number,
): Record<string, number> {
  const running = context.store.endpoints.meteredOf(owners);
  return Object.fromEntries(
    running.map((endpoint) => {
      const parts = partsOf(context, endpoint, at, dayMs, day);
      return [endpoint.id, parts.reduce((sum, { computeMs }) => sum + computeMs, 0)];
    }),
  );
}

/** The compute time of some owners' projects since the beginning of some days, in seconds. */
export function computeSecondsSince(
  context: ServiceContext,
  owners: readonly Owner[],
  days: readonly number[],
  at: number,
): number[] {
  const hours = days.map((day) => day * 24);
  const running = context.store.endpoints.meteredOf(owners);
  const parts = running.flatMap((endpoint) => partsOf(context, endpoint, at, hourMs, Math.min(...hours)));
  return hours.map((hour) => {
    const unbookedMs = parts.reduce((sum, { index, computeMs }) => sum + (index >= hour ? computeMs : 0), 0);
    return Math.floor((context.store.projects.computeMsSince(owners, hour) + unbookedMs) / 1000);
  });
}

/** The usage of all computes of a project, deleted ones included. */
export function usageOf(context: ServiceContext, project: Project, at: number): Usage {
  return usage(context, project, context.store.endpoints.metered(project.id), at);
}

/** The usage of all computes of a branch. */
export function usageOfBranch(context: ServiceContext, branch: Branch, at: number): Usage {
  return usage(context, branch, context.store.endpoints.meteredOn(branch.projectId, branch.id), at);
}

/** The usage of branches of one project, each asked for on its own: for pages of many. */
export function usageOfBranches(context: ServiceContext, projectId: string, at: number): (branch: Branch) => Usage {
  const running = Map.groupBy(context.store.endpoints.metered(projectId), ({ branchId }) => branchId);
  return (branch) => usage(context, branch, running.get(branch.id) ?? [], at);
}

function usage(
  context: ServiceContext,
  booked: { activeMs: number; computeMs: number },
  running: readonly MeteredEndpoint[],
  at: number,
): Usage {
  const more = running.map((endpoint) => unbooked(context, endpoint, at));
  const active = more.reduce((sum, one) => sum + one.activeMs, booked.activeMs);
  const compute = more.reduce((sum, one) => sum + one.computeMs, booked.computeMs);
  return { activeSeconds: Math.floor(active / 1000), computeSeconds: Math.floor(compute / 1000) };
}

/** In milliseconds of the service's scaled time. */
function unbooked(context: ServiceContext, endpoint: MeteredEndpoint, at: number) {
  const { meteredAt } = endpoint;
  const activeMs = meteredAt === undefined ? 0 : Math.round(Math.max(0, at - meteredAt) * context.options.timeScale);
  return { activeMs, computeMs: Math.round(activeMs * sizeInUse(context, endpoint)) };
}

/**
 * The size that autoscaling gives a compute, in compute units: the smallest of its range whose connection limit covers
 * the open connections, which are the only load in this model.
 */
function sizeInUse({ backend, options: { rules } }: ServiceContext, endpoint: MeteredEndpoint): number {
  const { minCu, maxCu } = endpoint;
  return minCu === maxCu ? maxCu : sizeWith(rules, endpoint, backend.connections(endpoint, false));
}

/** The size of a compute with so many open connections. */
export function sizeWith(
  rules: ServiceContext["options"]["rules"],
  { minCu, maxCu }: Pick<StoredEndpoint, "minCu" | "maxCu">,
  open: number,
): number {
  const covers = (size: number) => rules.maxConnections({ min: size, max: size }) >= open;
  return Math.min(computeUnitSizes.find((size) => size >= minCu && covers(size)) ?? maxCu, maxCu);
}
