import { computeUnitSizes } from "../../api/compute-units.ts";
import type { ServiceContext } from "../context.ts";
import { madeOnce } from "../made-once.ts";
import type { Branch } from "../store/branches.ts";
import type { MeteredEndpoint, StoredEndpoint } from "../store/endpoints.ts";
import { endpointDays, endpointQuarters, type PartOfPeriod, type Period, usageHours } from "../store/periods.ts";
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
  const more = unbooked(context, endpoint, at, openAt(context, endpoint));
  if (more.activeMs > 0) {
    context.store.projects.addUsage(endpoint.projectId, more);
    context.store.branches.addUsage(endpoint.branchId, more);
    const { quarters, days } = context.store;
    addHours(context, endpoint.projectId, [endpoint], at);
    quarters.add(endpoint.id, ...unbookedQuarters(context, endpoint, at));
    days.add(endpoint.id, ...partsOf(context, endpoint, at, dayMs, firstKept(endpointDays, dayOf(at))));
  }
  notePeak(context, endpoint, at);
  endpoint.meteredAt = endpoint.currentState === "active" ? at : undefined;
}

/** Records the usage of a branch's active computes until now, for all at once. To be called before they go with it. */
export function meterBranch(context: ServiceContext, { id, projectId }: Branch, at: number): void {
  const { projects, branches, endpoints } = context.store;
  const running = endpoints.meteredOn(projectId, id);
  const more = unbookedOf(context, running, at, "branchId")(id);
  if (more.activeMs === 0) return;
  projects.addUsage(projectId, more);
  branches.addUsage(id, more);
  addHours(context, projectId, running, at);
  // As for each of them, where the hour has had no record.
  const peak = endpoints.countMetered(projectId);
  if (running.some(({ meteredAt = at }) => hourOf(meteredAt) < hourOf(at))) {
    context.store.usageHours.add(projectId, { index: hourOf(at), peak });
  }
}

/** Records computes' unrecorded usage in the hours of their project. */
function addHours(context: ServiceContext, projectId: string, endpoints: readonly MeteredEndpoint[], at: number): void {
  const first = firstKept(usageHours, hourOf(at));
  const parts = sumsOf(context, endpoints, at, hourMs, first);
  context.store.usageHours.add(projectId, ...parts.filter(({ activeMs }) => activeMs > 0));
}

/** The first of the periods that are kept in one, by its index. */
function firstKept({ kept }: { kept: number }, index: number): number {
  return index - kept + 1;
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

type UsageMs = Pick<Period, "activeMs" | "computeMs">;
type Part = UsageMs & Pick<Period, "index">;

/** The part of a compute's usage that is not recorded yet, by periods of `unitMs` from the period `first` on. */
function partsOf(
  context: ServiceContext,
  endpoint: MeteredEndpoint,
  at: number,
  unitMs: number,
  first: number,
): Part[] {
  const parts: Part[] = [];
  const { computeMs: whole } = unbooked(context, endpoint, at, openAt(context, endpoint));
  eachPart(endpoint, whole, { at, unitMs, first }, (index, activeMs, computeMs) => {
    parts.push({ index, activeMs, computeMs });
  });
  return parts;
}

/** As `partsOf`, of some computes together: one for each period from the first one to the present. */
function sumsOf(
  context: ServiceContext,
  endpoints: readonly MeteredEndpoint[],
  at: number,
  unitMs: number,
  first: number,
): Part[] {
  const count = Math.floor(at / unitMs) - first + 1;
  const sums = Array.from({ length: count }, (_, after): Part => ({ index: first + after, activeMs: 0, computeMs: 0 }));
  const openOf = context.backend.directConnections();
  for (const endpoint of endpoints) {
    const { computeMs: whole } = unbooked(context, endpoint, at, openOf);
    eachPart(endpoint, whole, { at, unitMs, first }, (index, activeMs, computeMs) => {
      const sum = sums[index - first];
      if (sum === undefined) return;
      sum.activeMs += activeMs;
      sum.computeMs += computeMs;
    });
  }
  return sums;
}

/** Divides the whole of a compute's unrecorded compute time. */
function eachPart(
  { meteredAt: from }: MeteredEndpoint,
  whole: number,
  { at, unitMs, first }: { at: number; unitMs: number; first: number },
  use: (index: number, activeMs: number, computeMs: number) => void,
): void {
  if (from === undefined || at <= from) return;
  for (let index = Math.max(first, Math.floor(from / unitMs)); index * unitMs < at; index += 1) {
    const activeMs = Math.min(at, (index + 1) * unitMs) - Math.max(from, index * unitMs);
    use(index, activeMs, Math.round((whole * activeMs) / (at - from)));
  }
}

/** The length of a quarter of an hour, in milliseconds. */
export const quarterMs = hourMs / 4;

function quarterOf(at: number): number {
  return Math.floor(at / quarterMs);
}

function unbookedQuarters(context: ServiceContext, endpoint: StoredEndpoint, at: number): PartOfPeriod[] {
  const peak = context.backend.connections(endpoint, false) + context.backend.connections(endpoint, true);
  const first = firstKept(endpointQuarters, quarterOf(at));
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
  const parts = sumsOf(context, running, at, hourMs, hourOf(at) - hours + 1);
  const now = { index: hourOf(at), peak: running.length };
  const found = context.store.usageHours.upTo(project.id, now.index, hours, [...parts, now]);
  return found.map((hour) => ({ ...hour, peak: Math.max(hour.peak, Math.ceil(hour.activeMs / hourMs)) }));
}

/** The compute time since a day that is not recorded yet, in milliseconds, of each of some running computes. */
export function unbookedSince(
  context: ServiceContext,
  running: readonly MeteredEndpoint[],
  day: number,
  at: number,
): Record<string, number> {
  const openOf = context.backend.directConnections();
  return Object.fromEntries(
    running.map((endpoint) => {
      let sum = 0;
      const { computeMs: whole } = unbooked(context, endpoint, at, openOf);
      eachPart(endpoint, whole, { at, unitMs: dayMs, first: day }, (_, __, computeMs) => {
        sum += computeMs;
      });
      return [endpoint.id, sum];
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
  const parts = sumsOf(context, running, at, hourMs, Math.min(...hours));
  const booked = context.store.projects.computeMsSince(owners, hours);
  return hours.map((hour, n) => {
    const unbookedMs = parts.reduce((sum, { index, computeMs }) => sum + (index >= hour ? computeMs : 0), 0);
    return Math.floor(((booked[n] ?? 0) + unbookedMs) / 1000);
  });
}

/** The usage of all computes of a project, deleted ones included. */
export function usageOf(context: ServiceContext, project: Project, at: number): Usage {
  return usage(project, unbookedOf(context, context.store.endpoints.metered(project.id), at, "projectId"));
}

/** The usage of all computes of a branch. */
export function usageOfBranch(context: ServiceContext, branch: Branch, at: number): Usage {
  const running = context.store.endpoints.meteredOn(branch.projectId, branch.id);
  return usage(branch, unbookedOf(context, running, at, "branchId"));
}

/** The usage of branches of one project, each asked for on its own: for pages of many. */
export function usageOfBranches(context: ServiceContext, projectId: string, at: number): (branch: Branch) => Usage {
  const unbookedIn = unbookedOf(context, context.store.endpoints.metered(projectId), at, "branchId");
  return (branch) => usage(branch, unbookedIn);
}

function usage(booked: UsageMs & { id: string }, unbookedIn: (id: string) => UsageMs): Usage {
  const more = unbookedIn(booked.id);
  const seconds = (ms: number) => Math.floor(ms / 1000);
  return {
    activeSeconds: seconds(booked.activeMs + more.activeMs),
    computeSeconds: seconds(booked.computeMs + more.computeMs),
  };
}

/** The unrecorded usage of some computes together, by the project or branch that they belong to. */
function unbookedOf(
  context: ServiceContext,
  running: readonly MeteredEndpoint[],
  at: number,
  place: "projectId" | "branchId",
): (id: string) => UsageMs {
  const openOf = running.length > 0 ? context.backend.directConnections() : () => 0;
  const nothing = (): UsageMs => ({ activeMs: 0, computeMs: 0 });
  const sums = new Map<string, UsageMs>();
  for (const endpoint of running) {
    const sum = madeOnce(sums, endpoint[place], nothing);
    const { activeMs, computeMs } = unbooked(context, endpoint, at, openOf);
    sum.activeMs += activeMs;
    sum.computeMs += computeMs;
  }
  return (id) => sums.get(id) ?? nothing();
}

/** In milliseconds of the service's scaled time. */
function unbooked(
  context: ServiceContext,
  endpoint: MeteredEndpoint,
  at: number,
  openOf: (endpointId: string) => number,
): UsageMs {
  const { meteredAt } = endpoint;
  const activeMs = meteredAt === undefined ? 0 : Math.round(Math.max(0, at - meteredAt) * context.options.timeScale);
  return { activeMs, computeMs: Math.round(activeMs * sizeInUse(context.options.rules, endpoint, openOf)) };
}

/** The direct connections of one compute. */
function openAt({ backend }: ServiceContext, endpoint: MeteredEndpoint): () => number {
  return () => backend.connections(endpoint, false);
}

/**
 * The size that autoscaling gives a compute, in compute units: the smallest of its range whose connection limit covers
 * the open connections, which are the only load in this model.
 */
function sizeInUse(
  rules: ServiceContext["options"]["rules"],
  endpoint: MeteredEndpoint,
  openOf: (endpointId: string) => number,
): number {
  const { id, minCu, maxCu } = endpoint;
  return minCu === maxCu ? maxCu : sizeWith(rules, endpoint, openOf(id));
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
