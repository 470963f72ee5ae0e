import { computeUnitSizes } from "../../api/compute-units.ts";
import type { ServiceContext } from "../context.ts";
import { madeOnce } from "../made-once.ts";
import type { Branch } from "../store/branches.ts";
import type { MeteredEndpoint, StoredEndpoint } from "../store/endpoints.ts";
import { endpointDays, endpointQuarters, type PartOfPeriod, type Period, usageHours } from "../store/periods.ts";
import type { Project } from "../store/projects.ts";
import type { UsageMs } from "../store/unbooked.ts";

/**
 * Records the usage of an active compute until now, at its present size. To be called before it changes size or state,
 * before a client connects or leaves, and before it is deleted.
 */
export function meter(context: ServiceContext, endpoint: StoredEndpoint, at: number): void {
  record(context, [endpoint], at, openAt(context, endpoint));
  recordOwn(context, endpoint, at);
  notePeak(context, endpoint, at);
  endpoint.meteredAt = endpoint.currentState === "active" ? at : undefined;
}

/** The same for running computes of one project whose state stays, for all at once. */
export function meterRunning(context: ServiceContext, endpoints: readonly StoredEndpoint[], at: number): void {
  recordAll(context, endpoints, at);
  for (const endpoint of endpoints) {
    recordOwn(context, endpoint, at);
    endpoint.meteredAt = at;
  }
}

/** Records the usage of a branch's active computes until now, for all at once. To be called before they go with it. */
export function meterBranch(context: ServiceContext, { id, projectId }: Branch, at: number): void {
  recordAll(context, context.store.endpoints.meteredOn(projectId, id), at);
}

function recordAll(context: ServiceContext, running: readonly MeteredEndpoint[], at: number): void {
  const [first] = running;
  if (!first) return;
  const { store } = context;
  record(context, running, at, openIn(context));
  // As for each of them, where the hour has had no record.
  const peak = store.endpoints.countMetered(first.projectId);
  if (running.some(({ meteredAt = at }) => hourOf(meteredAt) < hourOf(at))) {
    store.usageHours.add(first.projectId, { index: hourOf(at), peak });
  }
}

/** Records the unrecorded usage of computes of one project with it, with its hours and with their branches. */
function record(context: ServiceContext, endpoints: readonly MeteredEndpoint[], at: number, openOf: OpenOf): void {
  const { projects, branches } = context.store;
  const whole: UsageMs = { activeMs: 0, computeMs: 0 };
  const ofBranches = new Map<string, UsageMs>();
  for (const endpoint of endpoints) {
    const { activeMs, computeMs } = unbooked(context, endpoint, at, openOf);
    for (const sum of [whole, madeOnce(ofBranches, endpoint.branchId, () => ({ activeMs: 0, computeMs: 0 }))]) {
      sum.activeMs += activeMs;
      sum.computeMs += computeMs;
    }
  }
  const [first] = endpoints;
  if (!first || whole.activeMs === 0) return;
  projects.addUsage(first.projectId, whole);
  for (const [id, sum] of ofBranches) branches.addUsage(id, sum);
  const hours = sumsOf(context, endpoints, { at, unitMs: hourMs, first: firstKept(usageHours, hourOf(at)) }, openOf);
  context.store.usageHours.add(first.projectId, ...hours.filter(({ activeMs }) => activeMs > 0));
}

/** Records a compute's unrecorded usage in its own quarters and days. */
function recordOwn(context: ServiceContext, endpoint: StoredEndpoint, at: number): void {
  const { quarters, days } = context.store;
  quarters.add(endpoint.id, ...unbookedQuarters(context, endpoint, at));
  days.add(endpoint.id, ...partsOf(context, endpoint, at, dayMs, firstKept(endpointDays, dayOf(at))));
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

type Part = UsageMs & Pick<Period, "index">;

/** The periods of `unitMs` from the period `first` on until a time. */
interface Periods {
  at: number;
  unitMs: number;
  first: number;
}

/** The number of direct connections of a compute. */
type OpenOf = (endpointId: string) => number;

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
  periods: Periods,
  openOf: OpenOf,
): Part[] {
  const { at, unitMs, first } = periods;
  const count = Math.floor(at / unitMs) - first + 1;
  const sums = Array.from({ length: count }, (_, after): Part => ({ index: first + after, activeMs: 0, computeMs: 0 }));
  for (const endpoint of endpoints) {
    const { computeMs: whole } = unbooked(context, endpoint, at, openOf);
    eachPart(endpoint, whole, periods, (index, activeMs, computeMs) => {
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
  { at, unitMs, first }: Periods,
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
  const parts = sumsOf(context, running, { at, unitMs: hourMs, first: hourOf(at) - hours + 1 }, openIn(context));
  const now = { index: hourOf(at), peak: running.length };
  const found = context.store.usageHours.upTo(project.id, now.index, hours, [...parts, now]);
  return found.map((hour) => ({ ...hour, peak: Math.max(hour.peak, Math.ceil(hour.activeMs / hourMs)) }));
}

/** In milliseconds of the service's scaled time. */
function unbooked(context: ServiceContext, endpoint: MeteredEndpoint, at: number, openOf: OpenOf): UsageMs {
  const { meteredAt } = endpoint;
  const activeMs = meteredAt === undefined ? 0 : Math.round(Math.max(0, at - meteredAt) * context.options.timeScale);
  return { activeMs, computeMs: Math.round(activeMs * sizeInUse(context.options.rules, endpoint, openOf)) };
}

/** The direct connections of one compute. */
function openAt({ backend }: ServiceContext, endpoint: MeteredEndpoint): OpenOf {
  return () => backend.connections(endpoint, false);
}

/** The direct connections of all computes, known at once. */
function openIn({ backend }: ServiceContext): OpenOf {
  const counts = backend.directConnections();
  return (id) => counts.get(id) ?? 0;
}

/**
 * The size that autoscaling gives a compute, in compute units: the smallest of its range whose connection limit covers
 * the open connections, which are the only load in this model.
 */
function sizeInUse(rules: ServiceContext["options"]["rules"], endpoint: MeteredEndpoint, openOf: OpenOf): number {
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
