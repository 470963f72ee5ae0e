import type { Proof } from "./observe/ownership.ts";
import type { PendingCreate } from "./observe/pending-operations.ts";
import type { Difference } from "./plan/fields.ts";
import type { Reason } from "./status/reasons.ts";

/**
 * What this process remembers of one Compute, by uid, and nobody else: all of it may be lost at any time without harm.
 * Times on the monotonic clock, in milliseconds.
 */
export interface ReconcileState {
  /** When this process first saw the Compute. */
  seenSince: number;
  /** A list counts only if its request began after this: the last write ended then, or something was lost sight of. */
  listsCountAfter: number;
  /** The mark of a create, and the first list since that lacks the endpoint. */
  pendingCreate?: {
    since: string;
    seenAt: number;
    firstListWithout?: number;
    mark?: PendingCreate;
  };
  /** The endpoint that was last proved ours: what kubectl replace drops of the proof is put back from here. */
  proved?: { endpointID: string; proof: Exclude<Proof, "none"> };
  /** The endpoint that this process made and no list has shown yet, and when the service answered with it. */
  created?: { endpointID: string; at: number };
  /** The endpoint that lists lack: since which list, and whether its own GET was 404 too. */
  missing?: { endpointID: string; firstListWithout: number; proved: boolean };
  /**
   * When the service last answered a DELETE that the endpoint is deleted or not there, and how often before, by its id.
   */
  answeredDeletes: Map<string, { at: number; before: number }>;
  /**
   * The endpoint whose DELETE was accepted by the service, and how often its own GET has shown it since all the same.
   */
  deleted?: { endpointID: string; proved: boolean; shown?: number };
  /**
   * The last PATCH that was accepted and has not taken: when, the lists since without it, the times it was tried again.
   */
  patched?: {
    generation: number;
    fields: readonly string[];
    listsWithout: readonly number[];
    at: number;
    tries: number;
  };
  /**
   * Since when a PATCH that disables the endpoint is unanswered: its reply was given up then, or this process first saw
   * that another's was.
   */
  unansweredDisableSince?: number;
  /** The generation that the service was brought to, and the drift told since: a wiped status says neither. */
  applied?: { generation: number; drift: readonly Difference[] };
  /** The generation that the service last accepted for this endpoint: the status tells it only once it is written. */
  accepted?: { endpointID: string; generation: number };
  /** When drift was corrected, to notice a tug-of-war. */
  corrections: readonly { generation: number; at: number }[];
  /** A write that failed, not to be tried again before `until` through the same base URL and key. */
  failedWrite?: { write: string; through?: string; reason: Reason; message: string; until: number; failures: number };
  /** How often in a row one reason was looked at, and when the next look is due. */
  requeue: { reason: string; count: number; dueAt: number | undefined };
  /** The value of `restartedAt` that was last carried out: not to be sent again, should the status be lost. */
  restarted?: string;
  /** What was last said of fields that cannot be read: an event says it once. */
  unreadable?: string;
  /** Our finalizer was taken off. */
  released?: true;
  /** When the service is asked again whether the connection Secret's password still holds. */
  secretDueAt?: number;
  /** When the Compute came under this process's selector from outside. */
  enteredAt?: number;
  /** The value of `reconcileRequestedAt` that lists are being renewed for. */
  handledReconcileRequest?: string;
}

export function newReconcileState(now: number): ReconcileState {
  return {
    seenSince: now,
    listsCountAfter: now,
    answeredDeletes: new Map(),
    corrections: [],
    requeue: { reason: "", count: 0, dueAt: undefined },
  };
}
