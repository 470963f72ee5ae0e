import type { KubeObject } from "../objects/object.ts";
import { annotation } from "./annotation.ts";
import { timeOf } from "./time.ts";

/** The longest wait for the end of a pause: no timer runs for longer than 24 days. */
const longestWaitMs = 24 * 3_600_000;

/**
 * For how long the annotation `paused` holds an object, in milliseconds of the wall clock; `undefined`: it does not. A
 * time pauses until then, and any other value but "false" without end: a person who mistypes "true" means it.
 */
export function pausedForMs(object: Pick<KubeObject, "metadata">, wallNow: number): number | undefined {
  const paused = annotation(object, "paused");
  if (paused === undefined || paused === "false") return undefined;
  const until = timeOf(paused);
  if (until === undefined) return Number.POSITIVE_INFINITY;
  return wallNow < until ? until - wallNow : undefined;
}

/** The time that the annotation `paused` holds, as written; `undefined` if it holds none. */
export function pausedUntil(object: Pick<KubeObject, "metadata">): string | undefined {
  const paused = annotation(object, "paused");
  return paused === undefined || timeOf(paused) === undefined ? undefined : paused;
}

/** Milliseconds until a paused object is reconciled again; `undefined`: its pause has no end. */
export function pauseEndsInMs(forMs: number): number | undefined {
  return forMs === Number.POSITIVE_INFINITY ? undefined : Math.min(forMs, longestWaitMs);
}
