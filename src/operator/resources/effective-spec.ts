import type { Disruption, Schedule, ScheduleEntry } from "./schedule.ts";
import { changesAt, holds, type Span } from "./wall-clock.ts";

// Schedules and windows at a time, in milliseconds since the epoch by the clock of the service. All is pure.

/** The entry of a schedule that counts, if any, and when that changes; `until` is absent if nothing changes soon. */
export interface InForce {
  entry: ScheduleEntry | undefined;
  until: number | undefined;
}

/** A spec with the fields that an entry replaces. */
interface Scheduled extends Pick<ScheduleEntry, "computeUnits" | "scaleToZero"> {
  schedule?: Schedule | undefined;
}

/** The first entry in force at a time, which alone counts. */
function entryAt(schedule: Schedule, at: number): ScheduleEntry | undefined {
  return schedule.find((entry) => holds(entry, at));
}

/** The entry in force at `now`, and when that changes. */
export function inForce(schedule: Schedule, now: number): InForce {
  return { entry: entryAt(schedule, now), until: changesAt(schedule, (at) => entryAt(schedule, at), now) };
}

/** The spec with the entry in force laid over it. Whatever compares, sends or shows a spec takes this one. */
export function effectiveSpec<Spec extends Scheduled>(spec: Spec, now: number): Spec {
  const entry = spec.schedule && entryAt(spec.schedule, now);
  if (entry === undefined) return spec;
  const { computeUnits, scaleToZero } = entry;
  return {
    ...spec,
    ...(computeUnits === undefined ? {} : { computeUnits }),
    ...(scaleToZero === undefined ? {} : { scaleToZero }),
  };
}

/** The windows in which connections may be cut; `undefined`: at any time. `ofConnection`: its default. */
export function windowsOf(
  { disruption }: { disruption?: Disruption | undefined },
  ofConnection: Disruption | undefined,
): readonly Span[] | undefined {
  const given = disruption ?? ofConnection;
  return given !== undefined && "windows" in given ? given.windows : undefined;
}

/** The service's clock is known to so many milliseconds: a window opens so much later here, and closes earlier. */
export const marginMs = 2000;

/** True if a window is open at `now`. */
export function isOpen(windows: readonly Span[], now: number): boolean {
  const isIn = (at: number) => windows.some((window) => holds(window, at));
  return isIn(now - marginMs) && isIn(now + marginMs);
}

/** The time at which the next window opens, of windows that are not open; `undefined`: none does soon. */
export function opensAt(windows: readonly Span[], now: number): number | undefined {
  const isIn = (at: number) => windows.some((window) => holds(window, at));
  const since = now - marginMs;
  const closed = isIn(since) ? changesAt(windows, isIn, since) : since;
  return closed === undefined ? undefined : changesAt(windows, isIn, closed);
}
