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

const known = new WeakMap<Schedule, { since: number; inForce: InForce }>();

/** The first entry in force at `now`, which alone counts. Remembered until it changes. */
export function inForce(schedule: Schedule, now: number): InForce {
  const before = known.get(schedule);
  if (before !== undefined && now >= before.since && now < (before.inForce.until ?? Number.NEGATIVE_INFINITY))
    return before.inForce;
  const entryAt = (at: number) => schedule.find((entry) => holds(entry, at));
  const found = { entry: entryAt(now), until: changesAt(schedule, entryAt, now) };
  known.set(schedule, { since: now, inForce: found });
  return found;
}

/** The name of the entry in force, as `status.appliedEntry` holds it; empty: none. */
export function nameInForce({ schedule = [] }: Scheduled, now: number): string {
  return inForce(schedule, now).entry?.name ?? "";
}

/** The spec with the entry in force laid over it. Whatever compares, sends or shows a spec takes this one. */
export function effectiveSpec<Spec extends Scheduled>(spec: Spec, now: number): Spec {
  const entry = spec.schedule === undefined ? undefined : inForce(spec.schedule, now).entry;
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
