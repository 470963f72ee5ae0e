import type { AnsweredReset, CarriedOut } from "../connection-secret/rotation.ts";
import type { Difference } from "../fields/compare.ts";
import type { FailedWrite } from "../life/back-off.ts";
import { type Due, nothingDue } from "../life/due.ts";
import type { Absence } from "../life/gone.ts";
import type { Write } from "../life/record.ts";
import type { ComputeStatus, WaitingChange, WriteRecord } from "../resources/compute.ts";
import type { Failure } from "../service-client/answer.ts";
import type { Effect, Outcome } from "./outcome.ts";
import type { Reason } from "./words/reasons.ts";

/** Contents of a `ReconcileState`. Times on the monotonic clock, in milliseconds. */
export interface ComputeMemory {
  /** Time at which this process first saw the Compute. */
  seenSince: number;
  /** Time at which the Compute came under this process's selector from outside. */
  enteredAt?: number;
  /** Limits from which lists count. */
  lists: {
    /** A list counts only if its request began later: a write ended then, or the watch may have missed events. */
    countAfter: number;
    /** The first create may use a list whose request began after this, also from before the Compute was first seen. */
    firstCreateAfter: number;
    /** The last write, if its answer is laid over lists: its end; lists newer than `before` counted before it. */
    laidOver?: { at: number; before: number };
  };
  /** A version of the Compute was seen. */
  isSeen?: true;
  /** The endpoint that the last version seen proves the Compute's own. */
  proved?: string | undefined;
  /** The record of a write: as the status has it, or is to have it. */
  write?: RememberedWrite | undefined;
  /** The endpoint that lists lack. */
  missing?: Absence | undefined;
  /** The service's answers to our DELETEs, by endpoint. */
  deletes: ReadonlyMap<string, AnsweredDelete>;
  /** The last accepted PATCH that lists do not show yet: when, the lists since without it, its repetitions. */
  patched?: Patched | undefined;
  /**
   * Time at which the request of a write ended that cuts connections and that no list shows over; infinite while it is
   * under way.
   */
  cutAt?: number | undefined;
  /** Time at which this term first saw the note `disabledByUs`, or its own last PATCH of `disabled` ended. */
  disableNotedAt?: number | undefined;
  /** The generation that the service was last brought to, for which endpoint, and the drift reported since. */
  accepted?: Accepted | undefined;
  /** The generation of an edit that asked for a list which shows whether the compute is idle. */
  idleAsked?: number;
  /** Times of corrected drift, to detect a tug-of-war. */
  corrections: readonly { generation: number; at: number }[];
  failedWrite?: FailedWrite<Reason> | undefined;
  signed?: Signed;
  requeue: Due;
  /** The value of `restartedAt` that is carried out, though a status that says so may be lost. */
  handled: { restartedAt?: string };
  /** Knowledge of this term about the password in the connection Secret. */
  password?: RememberedPassword | undefined;
  /** The last rotation that this term carried out. */
  rotated?: CarriedOut;
  /** The reconcile that a person requested and that lists since are for. */
  asked?: string | undefined;
  /** A status that is not written yet. */
  held?: HeldStatus | undefined;
  /** Contents of events so far: when last a write, unreadable fields, what a former Compute left. */
  told: { writeAt?: number; unreadable?: string | undefined; formers?: readonly string[] };
  /** The operator removed its finalizer, or may have. */
  released?: boolean;
}

/** The password in the connection Secret, as far as this term knows it. */
export interface RememberedPassword {
  /**
   * `known`: the Secret holds what the service last showed. `doubted`: the password is to be read first, because a
   * reset may have taken effect without an answer. `unstored`: the service shows none.
   */
  state: "known" | "doubted" | "unstored";
  /** A reset of this term was not answered. */
  isUnanswered?: boolean;
  /** An accepted reset, until the Secret holds the password. */
  reset?: AnsweredReset | undefined;
}

/** The record of a write, with what lists have shown since. */
export interface RememberedWrite extends Write<WriteRecord> {
  /** The endpoint that the request made or changed: as its answer says, or as a list showed since. */
  made?: string;
  /**
   * By endpoint, the start of the first list that showed a candidate without a name beside a newer signature, or our
   * name on what is taken over.
   */
  firstShown: ReadonlyMap<string, number>;
}

/** An answered DELETE. */
export interface AnsweredDelete {
  /** Time of the service's last answer with success or 404. */
  at: number;
  /** Number of such answers before. */
  before: number;
  /** True if the service accepted the DELETE of the Compute's own endpoint. */
  accepted: boolean;
  /** The endpoint's own GET was 404 since. */
  proved: boolean;
  /** Number of the endpoint's own GETs that have still shown it. */
  shown: number;
}

/** The generation and entry that the service was last brought to, for which endpoint, and the changes left out. */
export interface Accepted {
  endpointID: string | undefined;
  generation: number;
  drift: readonly Difference[];
  /** The entry of the schedule; absent: the status says it. */
  entry?: string | undefined;
  /** The changes that wait for a window. */
  waiting?: readonly WaitingChange[] | undefined;
}

/**
 * The memory of what the service was brought to, after a reconcile with this effect and status. One that neither sent
 * the spec nor found it settled leaves the status as it was: a write of this term that the status does not name is
 * newer.
 */
export function acceptedAfter(
  accepted: Accepted | undefined,
  { appliedGeneration, endpointID, drift = [], appliedEntry, waiting }: ComputeStatus,
  { kind }: Pick<Effect, "kind">,
): Accepted | undefined {
  if (appliedGeneration === undefined) return accepted;
  const isConcluded = kind === "accepted" || kind === "settled";
  const isNewer = accepted?.endpointID !== undefined && accepted.endpointID === (endpointID ?? accepted.endpointID);
  if (isNewer && !isConcluded) return accepted;
  // The service may have accepted more than the status says yet.
  const more = accepted?.endpointID === endpointID ? (accepted?.generation ?? -1) : -1;
  const generation = appliedGeneration === -1 && accepted === undefined ? -1 : Math.max(appliedGeneration, more);
  return { endpointID, generation, drift, entry: isConcluded ? appliedEntry : undefined, waiting };
}

/** An accepted PATCH. */
export interface Patched {
  generation: number;
  /** The branch that the Compute was to be on: its name may resolve to another without an edit. */
  branchID: string;
  /** The entry of the schedule in force: without an edit another may ask for other values. */
  entry?: string;
  fields: readonly string[];
  listsWithout: readonly number[];
  at: number;
  tries: number;
}

/**
 * The part of a status that is not written yet. A status that only says what is on the way waits a moment: where that
 * ends soon, the final status is the only one.
 */
export interface HeldStatus {
  /** Of the Compute that it is about. */
  generation: number;
  condition: Outcome["condition"];
  effect: Effect;
  /** Latest time of its writing, on the monotonic clock. */
  dueAt: number;
}

/** Values that most Computes have none of: one copy for all. */
const noDeletes: ComputeMemory["deletes"] = new Map();
const none: readonly never[] = [];
const nothing = {};

const deleteDefaults: AnsweredDelete = {
  at: Number.NEGATIVE_INFINITY,
  before: 0,
  accepted: true,
  proved: false,
  shown: 0,
};

/** The answers with what is newly known of one. */
export function withDelete(
  deletes: ComputeMemory["deletes"],
  endpointID: string,
  change: Partial<AnsweredDelete>,
): ComputeMemory["deletes"] {
  const known = deletes.get(endpointID) ?? deleteDefaults;
  return new Map(deletes).set(endpointID, { ...known, ...change });
}

/** Memory of a Compute that was first seen now. */
export function rememberedSince(now: number): ComputeMemory {
  return {
    seenSince: now,
    lists: { countAfter: now, firstCreateAfter: now },
    deletes: noDeletes,
    corrections: none,
    requeue: nothingDue,
    handled: nothing,
    told: nothing,
  };
}

/** The endpoint whose signature this process last renewed. */
export interface Signed {
  endpointID: string;
  /** Time before which it is not signed again. */
  renewAt: number;
  /** Failure of the last attempt; absent if the service accepted the name. */
  failure?: Failure;
}

export type ReadonlyState = Readonly<ComputeMemory>;

/** A Compute that comes under this process's selector is left to the previous one for this long, in milliseconds. */
const handOverMs = 60_000;

/** Time for which it is still left to that process, in milliseconds; 0: this process may write. */
export function handOverForMs({ enteredAt = Number.NEGATIVE_INFINITY }: ReadonlyState, now: number): number {
  return Math.max(0, enteredAt + handOverMs - now);
}

/** As `lists.countAfter`, but without the last write if its answer is laid over lists. */
export function answersCountAfter({ lists: { countAfter, laidOver } }: ReadonlyState): number {
  return laidOver?.at === countAfter ? laidOver.before : countAfter;
}

/** The record in question for endpoints: a restart's blocks only another restart. */
export function openWrite(write: RememberedWrite | undefined): RememberedWrite | undefined {
  return write?.phase === "open" && write.record.operation !== "restart" ? write : undefined;
}

/** True while a create, a takeover or a move may still take effect, or has not been seen to. */
export function isOpen(write: RememberedWrite | undefined): boolean {
  return openWrite(write) !== undefined;
}

/** A create or takeover of which nobody knows what it made: only lists tell. */
export function isUnanswered(write: RememberedWrite | undefined): boolean {
  return isOpen(write) && !isMoveOpen(write) && write?.made === undefined;
}

/** A move that may still take effect; the endpoint is known, so only changes of it wait. */
export function isMoveOpen(write: RememberedWrite | undefined): boolean {
  return openWrite(write)?.record.operation === "move";
}
