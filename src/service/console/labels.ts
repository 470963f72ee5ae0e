import { memoryGB } from "../../api/compute-units.ts";
import { suspendAfterSeconds } from "../../api/scale-to-zero.ts";
import { timestamp } from "../clock.ts";
import type { Usage } from "../computes/usage.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import { type Html, html } from "./html.ts";

/** A compute's type and access: `Primary`, `read-write`. */
export function typeInWords({ type }: StoredEndpoint): [role: string, access: string] {
  return type === "read_write" ? ["Primary", "read-write"] : ["Read Replica", "read-only"];
}

/** A compute's status: Active or Idle, or Starting before it is either for the first time. */
export function statusInWords({ currentState }: StoredEndpoint): "Active" | "Idle" | "Starting" {
  switch (currentState) {
    case "active":
      return "Active";
    case "idle":
      return "Idle";
    case "init":
      return "Starting";
  }
}

/** Work in progress on a compute, if any. */
export function progressInWords({ currentState, pendingState }: StoredEndpoint): string | undefined {
  if (pendingState === undefined || currentState === "init") return undefined;
  if (pendingState === currentState) return "applying a change";
  return pendingState === "idle" ? "suspending" : "starting";
}

/** `0.25–2 vCPU`, or `4 vCPU` for a fixed size. */
export function sizeInWords({ minCu, maxCu }: StoredEndpoint): string {
  return minCu === maxCu ? `${minCu} vCPU` : `${minCu}–${maxCu} vCPU`;
}

/** `1–8 GB, autoscaling`. */
export function memoryInWords({ minCu, maxCu }: StoredEndpoint): string {
  if (minCu === maxCu) return `${memoryGB(minCu)} GB, fixed`;
  return `${memoryGB(minCu)}–${memoryGB(maxCu)} GB, autoscaling`;
}

/** `1.5 CU hours, active for 45 minutes`. */
export function usageInWords({ activeSeconds, computeSeconds }: Usage): string {
  const minutes = Math.floor(activeSeconds / 60);
  return `${usedInWords(computeSeconds * 1000)}, active for ${counted(minutes, "minute")}`;
}

/** `1.5 CU hours`. */
export function usedInWords(computeMs: number): string {
  return counted(cuHours(computeMs), "CU hour");
}

export function cuHours(computeMs: number): number {
  return Math.round(computeMs / 36_000) / 100;
}

/** A figure with at most two digits after its point. */
export function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

/** The time of day, in UTC: `12:00`. */
export function timeOfDay(at: number): string {
  return timestamp(at).slice(11, 16);
}

/** Delay of scale to zero: `after 5 minutes`, or `off`. */
export function suspensionInWords(suspendTimeoutSeconds: number): string {
  const seconds = suspendAfterSeconds(suspendTimeoutSeconds);
  return seconds === undefined ? "off" : `after ${durationInWords(seconds)}`;
}

/** A whole number of the largest possible unit: `90 seconds`, `5 minutes`, `1 hour`. */
export function durationInWords(seconds: number): string {
  for (const [unit, name] of units) if (seconds >= unit && seconds % unit === 0) return counted(seconds / unit, name);
  return counted(seconds, "second");
}

/** The duration of work: `300 ms`, `4.5 s`, or as a duration. */
export function tookInWords(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${Math.round(ms / 100) / 10} s` : durationInWords(Math.round(ms / 1000));
}

const units = [
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
] as const;

/** `1 compute`, `2 computes`. */
export function counted(count: number, noun: string, several = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : several}`;
}

/** A time and how long ago it was; `never` if there is none. */
export function moment(at: number | undefined, now: number): Html {
  if (at === undefined) return html`never`;
  const iso = timestamp(at);
  return html`<time datetime="${iso}">${minuteOf(iso)}</time>
<small>${ago(now - at)}</small>`;
}

/** A time to come and how far ahead it is. */
export function momentAhead(at: number, now: number): Html {
  const iso = timestamp(at);
  return html`<time datetime="${iso}">${minuteOf(iso)}</time>, ${ahead(at - now)}`;
}

/** The distance of a time to come, for lists: the time itself is shown where it is pointed at. */
export function endIn(at: number, now: number): Html {
  const iso = timestamp(at);
  return html`<time datetime="${iso}" title="${minuteOf(iso)}">${ahead(at - now)}</time>`;
}

function ahead(ms: number): string {
  const words = largestUnit(ms);
  return words === undefined ? "now" : `in ${words}`;
}

/** `3 minutes ago`. */
export function ago(ms: number): string {
  const words = largestUnit(ms);
  return words === undefined ? "just now" : `${words} ago`;
}

/** `3 minutes`; `undefined` for less than one. */
function largestUnit(ms: number): string | undefined {
  const seconds = Math.floor(ms / 1000);
  const [unit, name] = units.find(([least]) => seconds >= least) ?? [];
  return unit && name && counted(Math.floor(seconds / unit), name);
}

/** `2026-01-31 12:00 UTC`. */
function minuteOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}
