import type { EventInput } from "../kube/event-record.ts";

/** Conditions after a reconcile. */
export type ShownCondition<Reason extends string> =
  | { kind: "shown"; reason: Reason; message: string }
  /** Nothing new is known. */
  | { kind: "unchanged" }
  /** The finalizer is removed: the object is gone, or will be at once. */
  | { kind: "released" };

/** The time of the next reconcile. */
export type Requeue =
  /** As the reason shown says, with a list from then. */
  | { kind: "byReason" }
  /** At once, and the list at hand still counts. */
  | { kind: "now" }
  /** After so many milliseconds, with a list from then unless it `needsNoNewList`. */
  | { kind: "after"; ms: number; needsNoNewList?: true }
  /** The object waits for something that enqueues it; the list that it was planned from still counts then. */
  | { kind: "enqueued" };

/** The result of a reconcile, as far as every kind has it: status, events and the next reconcile follow from it. */
export interface Outcome<Reason extends string> {
  condition: ShownCondition<Reason>;
  requeue: Requeue;
  events: readonly EventInput[];
}

export function after(ms: number | undefined): Requeue {
  return ms === undefined ? { kind: "byReason" } : { kind: "after", ms };
}

/** At once, and the list at hand still counts. */
export const atOnce: Requeue = { kind: "now" };
