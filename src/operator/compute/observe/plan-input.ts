import type { Operation } from "../../../api/operation.ts";
import type { Compute } from "../../resources/compute.ts";
import { conditionOf } from "../../resources/conditions-of.ts";
import { annotations, finalizers } from "../../resources/names.ts";
import type { ReconcileState } from "../state.ts";
import type { Reason } from "../status/reasons.ts";
import type { Claimants } from "./claims.ts";
import type { EndpointIndex, Ownership } from "./ownership.ts";

/** What can be seen of the service through the Compute's connection. */
export type Observation =
  /** Nothing yet, or nothing new enough: a newer list enqueues the Compute, or `requeueAfterMs` where it is set. */
  | { kind: "awaited"; requeueAfterMs?: number }
  /** `through` names base URL and key, where there is a connection that could be asked. */
  | { kind: "blocked"; reason: Reason; message: string; projectGone: boolean; through?: string }
  | { kind: "listed"; list: EndpointSnapshot };

export interface EndpointSnapshot {
  endpoints: EndpointIndex;
  /** Monotonic milliseconds. */
  startedAt: number;
  links: Ownership;
  /** Of the linked endpoint, newest first. */
  operations: readonly Operation[];
  /** All recent operations of the linked endpoint, also those set off by others, where the plan needed them. */
  lookedUp?: readonly Operation[];
  /** How many of the project's linked endpoints this list lacks. */
  notListed: { missing: number; known: number };
  /** Whether the service is known to show the names that endpoints are given. */
  markers: "shown" | "hidden" | "unknown";
  /** Names base URL and key. */
  through: string;
  /** The connection is being deleted: nothing new is made through it. */
  terminating: boolean;
}

/** All that a plan is made from. */
export interface PlanInput {
  compute: Compute;
  observation: Observation;
  claimants: Claimants;
  memory: Readonly<ReconcileState>;
  /** Monotonic milliseconds. */
  now: number;
  /** `--create-settle`, in milliseconds. */
  createSettleMs: number;
}

export function annotation(compute: Compute, name: keyof typeof annotations): string | undefined {
  return compute.metadata.annotations?.[annotations[name]];
}

export function generationOf({ metadata }: Compute): number {
  return metadata.generation ?? 0;
}

/** The reason that the status shows now. */
export function shownReason({ status }: Compute): string | undefined {
  return conditionOf(status, "Ready")?.reason;
}

/** Whether a person asked for a fresh look that has not been answered yet. */
export function reconcileRequested(compute: Compute): boolean {
  const asked = annotation(compute, "reconcileRequestedAt");
  return asked !== undefined && asked !== compute.status.lastHandledReconcileAt;
}

/**
 * Whether a person has confirmed the loss that the status shows. A value that was there before the loss was shown, or
 * that confirmed an earlier one, confirms nothing.
 */
export function lossConfirmed(compute: Compute): boolean {
  const isTold = shownReason(compute) === "MassLoss" || compute.status.lossDoubted === true;
  return isTold && unhandledConsent(compute) !== undefined;
}

/** The value of `confirmLoss`, until the status says that it was handled. */
export function unhandledConsent(compute: Compute): string | undefined {
  const value = annotation(compute, "confirmLoss");
  return value === compute.status.lastHandledConfirmLoss ? undefined : value;
}

/** Whether nothing is to be sent for a Compute. Any value but "false" pauses: who mistypes "true" means it. */
export function isPaused(compute: Compute): boolean {
  const paused = annotation(compute, "paused");
  return paused !== undefined && paused !== "false";
}

export function nameOf({ metadata }: Compute): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Whether our finalizer holds the Compute. */
export function hasFinalizer({ metadata }: Compute): boolean {
  return metadata.finalizers?.includes(finalizers.endpoint) === true;
}

/** A Compute by kind and name, for messages about who is in the way. */
export function who(compute: Compute): string {
  return `Compute ${nameOf(compute)}`;
}
