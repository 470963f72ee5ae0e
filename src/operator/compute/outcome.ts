import type { Endpoint } from "../../api/endpoint.ts";
import type { Operation } from "../../api/operation.ts";
import type { Compute } from "../resources/compute.ts";
import type { Difference } from "./plan/fields.ts";
import type { Reason } from "./status/reasons.ts";

/** An event to be shown with the Compute. */
export interface EventRecord {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** What a reconcile came to: all that the status, the events and the next look are made from. */
export interface Outcome {
  /** As it is after this pass's writes to the API server. */
  compute: Compute;
  /** `unchanged`: nothing new is known, and the conditions stay. */
  condition: { kind: "shown"; reason: Reason; message: string } | { kind: "unchanged" };
  /** Milliseconds until the next look, at a list from then, where it is not the reason's own to say. */
  requeueAfterMs?: number;
  /** What it waits for wakes it: no look is due, and the list that it was planned from goes on counting. */
  isWoken?: true;
  /** The endpoint as an answer of this reconcile shows it, newer than any list. */
  endpoint?: Endpoint;
  /** Operations in the answers to this reconcile's requests. */
  operations: readonly Operation[];
  /** The generation of the spec that the service was brought to. */
  applied?: number;
  /** A write disabled the endpoint (true), or did not, or ended that (false). */
  disabledByUs?: boolean;
  /** How many writes that disable the endpoint may still take effect, where this reconcile found out. */
  unansweredDisables?: number;
  /** The value of `restartedAt` that was carried out. */
  restarted?: string;
  drift?: readonly Difference[];
  /** The endpoint that is linked is another Compute's. */
  ownedByOther?: true;
  /** The service shows what the spec asks for, whatever else the verdict is about. */
  asDeclared?: true;
  /** The connection Secret could not be checked just now: a reconcile that a person requested is not handled yet. */
  unread?: true;
  notes: readonly EventRecord[];
  /** The finalizer is off: the object is gone, or as good as. */
  released: boolean;
}

export function unchanged(compute: Compute, requeueAfterMs?: number, notes: readonly EventRecord[] = []): Outcome {
  const look = requeueAfterMs === undefined ? {} : { requeueAfterMs };
  return { compute, condition: { kind: "unchanged" }, operations: [], notes, released: false, ...look };
}

export function shown(
  compute: Compute,
  reason: Reason,
  message: string,
  more: Partial<Omit<Outcome, "compute" | "condition">> = {},
): Outcome {
  const condition = { kind: "shown", reason, message } as const;
  return { compute, condition, operations: [], notes: [], released: false, ...more };
}
