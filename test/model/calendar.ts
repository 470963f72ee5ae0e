import { annotations } from "../../src/operator/resources/names.ts";
import type { Configuration, Kube, Phase } from "./terms.ts";

// The wall clock of a world, written out: the judge shares no calendar with the operator.

/** A world without schedules and windows. */
export const timeless: readonly Phase[] = [{ at: "2026-11-28T12:00:00Z", isOpen: true }];

export const windows: { days: ("Mon" | "Sun")[]; from: string; to: string }[] = [
  { days: ["Mon"], from: "02:00", to: "03:00" },
];
export const schedule = [{ name: "office", days: ["Sun"], from: "08:00", to: "19:00", computeUnits: sized(4) }];

export function sized(size: number): { min: number; max: number } {
  return { min: size, max: size };
}

/** The service's clock in a phase: a minute after its beginning. */
export function wallIn({ phases }: Configuration, phase: number): number {
  return Date.parse(phases[phase]?.at ?? "") + 60_000;
}

/** The phase of which that is the clock. */
export function phaseAt(configuration: Configuration, now: number): number {
  return configuration.phases.findIndex((_, phase) => wallIn(configuration, phase) === now);
}

/** The name of the entry in force; empty: none. */
export function entryIn({ phases }: Configuration, phase: number, { spec }: Kube): string {
  return entryAt(spec, phases[phase])?.name ?? "";
}

function entryAt({ schedule: entries = [] }: Kube["spec"], phase: Phase | undefined) {
  return phase?.entry === undefined ? undefined : entries[phase.entry];
}

/** The size that the spec asks for; `undefined`: none. */
export function sizeIn({ phases }: Configuration, phase: number, { spec }: Kube): number | undefined {
  return (entryAt(spec, phases[phase])?.computeUnits ?? spec.computeUnits)?.max;
}

/** True while connections may be cut. */
export function mayCutIn(configuration: Configuration, phase: number, { spec, metadata }: Kube): boolean {
  const disruption = spec.disruption ?? configuration.ofConnection;
  if (disruption === undefined || "anyTime" in disruption) return true;
  const until = metadata.annotations?.[annotations.disruptionUntil];
  const isAllowed = until !== undefined && wallIn(configuration, phase) < Date.parse(until);
  return isAllowed || configuration.phases[phase]?.isOpen === true;
}

/** The beginning of the next phase that is another in this; `undefined`: none is in sight. */
export function nextIn({ phases }: Configuration, phase: number, isNext: (one: Phase) => boolean): number | undefined {
  const found = phases.slice(phase + 1).find(isNext);
  return found && Date.parse(found.at);
}
