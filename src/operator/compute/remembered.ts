import type { PendingCreate } from "./observe/annotations.ts";
import type { Proof } from "./observe/ownership.ts";
import type { Difference } from "./plan/fields.ts";
import type { HeldStatus } from "./status/held.ts";
import type { Reason } from "./status/reasons.ts";

/** What a `ReconcileState` holds. Times on the monotonic clock, in milliseconds. */
export interface Remembered {
  /** When this process first saw the Compute. */
  seenSince: number;
  /** A list counts only if its request began later: the last write ended then, or the watch may have missed events. */
  listsCountAfter: number;
  /** The last write, if its answer is laid over lists: when it ended, and after when lists counted before it. */
  laidOver?: { at: number; before: number };
  /** The first create may use a list whose request began after this, also from before the Compute was first seen. */
  firstListAfter: number;
  /** The pending create, since when this process has known it, and the first list since that lacks the endpoint. */
  pendingCreate?: { since: string; seenAt: number; firstListWithout?: number; mark?: PendingCreate } | undefined;
  /** The `posts` of the create's mark that this process wrote last, if neither its POST nor another patch followed. */
  unsentPosts?: number | undefined;
  /** The endpoint last proved ours: what kubectl replace drops of the proof is restored from here. */
  proved?: { endpointID: string; proof: Exclude<Proof, "none"> } | undefined;
  /** The endpoint that this process created and no list has shown yet, and when the service answered with it. */
  created?: { endpointID: string; at: number } | undefined;
  /** The endpoint that lists lack: since which list, and whether its own GET was 404 too, or how often it showed it. */
  missing?: { endpointID: string; firstListWithout: number; proved: boolean; shown?: number } | undefined;
  /** By endpoint: when the service last answered a DELETE with success or 404, and how often before. */
  answeredDeletes: ReadonlyMap<string, { at: number; before: number }>;
  /** The endpoint whose DELETE the service accepted, and how often its own GET has still shown it. */
  deleted?: { endpointID: string; proved: boolean; shown?: number };
  /** The last accepted PATCH that lists do not show yet: when, the lists since without it, its repetitions. */
  patched?: Patched | undefined;
  /** When a PATCH that disables the endpoint got no answer, or this process first saw that one of another got none. */
  unansweredDisableSince?: number | undefined;
  /** When the endpoint was last seen disabled, or a PATCH that disables it accepted, and none since that enables it. */
  disabledAt?: number;
  /** The generation that the service was brought to, and the drift reported since: for a status that was wiped. */
  applied?: { generation: number; drift: readonly Difference[] };
  /** The generation that the service last accepted for this endpoint; the status has it only after its next write. */
  accepted?: { endpointID: string; generation: number } | undefined;
  /** When drift was corrected, to detect a tug-of-war. */
  corrections: readonly { generation: number; at: number }[];
  /** A write that failed, not to be repeated before `until` with the same base URL and key. */
  failedWrite?: FailedWrite | undefined;
  signed?: Signed;
  /** The endpoints of a former Compute that a warning has named. */
  warnedOf?: readonly string[];
  /** How often in a row the Compute was reconciled for one reason, since when, and when it is due again. */
  requeue: { reason: string; count: number; since?: number; dueAt: number | undefined };
  /** The value of `restartedAt` last carried out: not to be sent again if the status is lost. */
  restarted?: string;
  /** The last message about fields that cannot be read: an event reports it once. */
  unreadable?: string | undefined;
  /** When the result of the write under way is expected to be seen. */
  resultAt?: number | undefined;
  /** Operations of the endpoint were in progress at the last reconcile. */
  wasBusy?: boolean;
  /** What the status does not say yet. */
  held?: HeldStatus | undefined;
  /** When an event last reported a write. */
  announcedAt?: number;
  /** The operator removed its finalizer. */
  released?: true;
  /** When the service is asked again whether the connection Secret's password is still valid. */
  secretDueAt?: number | undefined;
  /** When the Compute came under this process's selector from outside. */
  enteredAt?: number;
  /** The value of `reconcileRequestedAt` that lists are being renewed for. */
  handledReconcileRequest?: string | undefined;
}

/** An accepted PATCH. */
interface Patched {
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
const noAnswers: Remembered["answeredDeletes"] = new Map();
const none: readonly never[] = [];

/** What is remembered of a Compute that was first seen now. */
export function rememberedSince(now: number): Remembered {
  return {
    seenSince: now,
    listsCountAfter: now,
    firstListAfter: now,
    answeredDeletes: noAnswers,
    corrections: none,
    requeue: { reason: "", count: 0, dueAt: undefined },
  };
}

/** The endpoint that this process last signed, and over which uid. */
export interface Signed {
  endpointID: string;
  over: string | undefined;
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

/** As `listsCountAfter`, but without the last write if its answer is laid over lists. */
export function answersCountAfter({ listsCountAfter, laidOver }: ReadonlyState): number {
  return laidOver?.at === listsCountAfter ? laidOver.before : listsCountAfter;
}
