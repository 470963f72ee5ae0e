import type { ConnectionView } from "../../connection/registry.ts";
import { timestamp } from "../../objects/conditions-of.ts";
import { annotation } from "../../resources/annotation.ts";
import type { Compute } from "../../resources/compute.ts";
import { effectiveSpec, inForce, isOpen, marginMs, opensAt, windowsOf } from "../../resources/effective-spec.ts";
import type { Disruption } from "../../resources/schedule.ts";
import { timeOf } from "../../resources/time.ts";
import { type Span, unknownZones } from "../../resources/wall-clock.ts";

/** A moment by the service's clock, for a Compute with a schedule or with windows. */
export interface Moment {
  /** Milliseconds since the epoch. */
  now: number;
  /** The name of the entry in force; empty: none. */
  entry: string;
  /** The time at which that changes; absent: none, or not soon. */
  until?: number | undefined;
  /** The spec as declared: no entry is laid over it. */
  declared: Compute["spec"];
  /** All windows; absent: connections may be cut at any time. */
  windows?: readonly Span[];
  /** The windows, while none is open and nobody let connections be cut: changes that cut them wait. */
  closed?: readonly Span[];
  /** Zones that this process does not know: their entries are never in force, and their windows never open. */
  unknownZones: readonly string[];
}

/** The moment for a Compute; `undefined`: time decides nothing. `ofConnection`: the default of its connection. */
export function momentOf(
  { metadata, spec }: Pick<Compute, "metadata" | "spec">,
  ofConnection: Disruption | undefined,
  now: number,
): Moment | undefined {
  const windows = windowsOf(spec, ofConnection);
  if (windows === undefined && spec.schedule === undefined) return undefined;
  const allowedUntil = timeOf(annotation({ metadata }, "disruptionUntil") ?? "");
  const isAllowed = allowedUntil !== undefined && now + marginMs < allowedUntil;
  const isClosed = windows !== undefined && !isAllowed && !isOpen(windows, now);
  const { entry, until } = inForce(spec.schedule ?? [], now);
  return {
    now,
    entry: entry?.name ?? "",
    until,
    declared: spec,
    ...(windows === undefined ? {} : { windows }),
    ...(isClosed ? { closed: windows } : {}),
    unknownZones: unknownZones([...(windows ?? []), ...(spec.schedule ?? [])]),
  };
}

/** The time from which connections may be cut for what is due at a time; without windows that time. */
export function allowedFrom(dueAt: number, moment: Moment | undefined): number {
  const { windows, closed, now = dueAt } = moment ?? {};
  if (windows === undefined) return dueAt;
  // A window that was missed does not count; one that is open is shown as it was before.
  const at = closed === undefined ? dueAt : Math.max(dueAt, now);
  return isOpen(windows, at) ? at : (opensAt(windows, at) ?? dueAt);
}

/** The moment for a Compute through its connection. */
export function momentThrough(compute: Compute, view: ConnectionView, serviceNow: number): Moment | undefined {
  return momentOf(compute, view.kind === "open" ? view.connection.spec.disruption : undefined, serviceNow);
}

/** The Compute as its schedule has it then. */
export function asOf(compute: Compute, now: number): Compute {
  const spec = effectiveSpec(compute.spec, now);
  return spec === compute.spec ? compute : { ...compute, spec };
}

/** The name of the entry in force; empty: none, or no schedule. */
export function entryOf({ moment }: { moment?: Moment | undefined }): string {
  return moment?.entry ?? "";
}

/** The entry in force and when that changes, as a status and a plan show them. */
export function shownEntry({ entry: active, until }: Moment): { active: string; until?: string } {
  return { active, ...(until === undefined ? {} : { until: timestamp(until) }) };
}
