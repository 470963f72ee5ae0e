import type { Difference } from "./plan/fields.ts";
import type { RememberedWrite } from "./record.ts";
import type { HeldStatus } from "./status/held.ts";
import type { Reason } from "./status/reasons.ts";

/** What a `ReconcileState` holds. Times on the monotonic clock, in milliseconds. */
export interface Remembered {
  /** When this process first saw the Compute. */
  seenSince: number;
  /** When the Compute came under this process's selector from outside. */
  enteredAt?: number;
  /** Which lists count. */
  lists: {
    /** A list counts only if its request began later: a write ended then, or the watch may have missed events. */
    countAfter: number;
    /** The first create may use a list whose request began after this, also from before the Compute was first seen. */
    firstAfter: number;
    /** The last write, if its answer is laid over lists: when it ended, and after when lists counted before it. */
    laidOver?: { at: number; before: number };
  };
  /** The record of a write: as the status has it, or is to have it. */
  write?: RememberedWrite | undefined;
  /** The endpoint that lists lack: since which list, and whether its own GET was 404 too, or how often it showed it. */
  missing?: { endpointID: string; firstListWithout: number; proved: boolean; shown?: number } | undefined;
  /** The service's answers to our DELETEs, by endpoint. */
  deletes: ReadonlyMap<string, AnsweredDelete>;
  /** The last accepted PATCH that lists do not show yet: when, the lists since without it, its repetitions. */
  patched?: Patched | undefined;
  /** When this term first saw the note `disabledByUs`, or its own last PATCH of `disabled` ended. */
  disableNotedAt?: number | undefined;
  /** The generation that the service was last brought to, for which endpoint, and the drift reported since. */
  accepted?: { endpointID: string | undefined; generation: number; drift: readonly Difference[] } | undefined;
  /** When drift was corrected, to detect a tug-of-war. */
  corrections: readonly { generation: number; at: number }[];
  /** A write that failed, not to be repeated before `until` with the same base URL and key. */
  failedWrite?: FailedWrite | undefined;
  signed?: Signed;
  /** How often in a row the Compute was reconciled for one reason, since when, and when it is due again. */
  requeue: {
    reason: string;
    count: number;
    since?: number;
    dueAt: number | undefined;
    /** When the result of the write under way is expected to be seen. */
    resultAt?: number | undefined;
    /** Operations of the endpoint were in progress at the last reconcile. */
    wasBusy?: boolean;
  };
  /** The values of annotations that are carried out, though a status that says so may be lost. */
  handled: { restartedAt?: string; reconcileRequestedAt?: string };
  /** What the status does not say yet. */
  held?: HeldStatus | undefined;
  /** What events have reported: when last a write, unreadable fields, what a former Compute left. */
  told: { writeAt?: number; unreadable?: string | undefined; formers?: readonly string[] };
  /** The operator removed its finalizer, or may have. */
  released?: boolean;
  /** When the service is asked again whether the connection Secret's password is still valid. */
  secretDueAt?: number | undefined;
}

/** An answered DELETE. */
export interface AnsweredDelete {
  /** When the service last answered with success or 404. */
  at: number;
  /** How often it did before. */
  before: number;
  /** It accepted the DELETE of the Compute's own endpoint. */
  accepted: boolean;
  /** The endpoint's own GET was 404 since. */
  proved: boolean;
  /** How often the endpoint's own GET has still shown it. */
  shown: number;
}

/** An accepted PATCH. */
export interface Patched {
  generation: number;
  /** That the Compute was to be on: the name of its branch may come to another without an edit. */
  branchID: string;
  fields: readonly string[];
  listsWithout: readonly number[];
  at: number;
  tries: number;
}

/** A write that failed, and the base URL and key through which it was sent. */
export interface FailedWrite {
  write: string;
  through?: string;
  reason: Reason;
  message: string;
  until: number;
  failures: number;
}

/** What most Computes have none of: one copy for all. */
const noDeletes: Remembered["deletes"] = new Map();
const none: readonly never[] = [];
const nothing = {};

const unanswered: AnsweredDelete = {
  at: Number.NEGATIVE_INFINITY,
  before: 0,
  accepted: true,
  proved: false,
  shown: 0,
};

/** The answers with what is newly known of one. */
export function withDelete(
  deletes: Remembered["deletes"],
  endpointID: string,
  change: Partial<AnsweredDelete>,
): Remembered["deletes"] {
  const known = deletes.get(endpointID) ?? unanswered;
  return new Map(deletes).set(endpointID, { ...known, ...change });
}

/** What is remembered of a Compute that was first seen now. */
export function rememberedSince(now: number): Remembered {
  return {
    seenSince: now,
    lists: { countAfter: now, firstAfter: now },
    deletes: noDeletes,
    corrections: none,
    requeue: { reason: "", count: 0, dueAt: undefined },
    handled: nothing,
    told: nothing,
  };
}

/** The endpoint whose signature this process last renewed. */
export interface Signed {
  endpointID: string;
  /** It is not signed again before. */
  renewAt: number;
  /** How often it was signed before. */
  before: number;
}

/** How often this process has signed the endpoint. */
export function signedBefore({ signed }: ReadonlyState, endpointID: string): number {
  return signed?.endpointID === endpointID ? signed.before + 1 : 0;
}

export type ReadonlyState = Readonly<Remembered>;

/** A Compute that comes under this process's selector is left to the previous one for this long, in milliseconds. */
const handOverMs = 60_000;

/** How long it is still left to that, in milliseconds; 0: this process may write. */
export function handOverForMs({ enteredAt = Number.NEGATIVE_INFINITY }: ReadonlyState, now: number): number {
  return Math.max(0, enteredAt + handOverMs - now);
}

/** As `lists.countAfter`, but without the last write if its answer is laid over lists. */
export function answersCountAfter({ lists: { countAfter, laidOver } }: ReadonlyState): number {
  return laidOver?.at === countAfter ? laidOver.before : countAfter;
}
