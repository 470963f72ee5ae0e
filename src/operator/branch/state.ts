import type { FailedWrite } from "../life/back-off.ts";
import { type Due, nothingDue } from "../life/due.ts";
import type { Absence } from "../life/gone.ts";
import type { BranchEnd } from "./action.ts";
import type { BranchReason } from "./reasons.ts";

export interface UnseenEnd {
  expiry: string;
  at: string | undefined;
  /** Time of the last request with it, and the number of requests before. */
  sentAt: number;
  resent: number;
  /** The first list since that does not show it either. */
  differsSince: number | undefined;
}

/** An end whose PATCH got no usable answer, and that the service may still take up. */
export interface UnansweredEnd extends BranchEnd {
  sentAt: number;
}

/**
 * `unsent`: nothing of it is on its way, since it is still to be sent or was refused. `unanswered`: the service may
 * still carry it out. `answered`: it is done, whatever lists that lag show.
 */
export type ResetFate = "unsent" | "unanswered" | "answered";

/**
 * Memory of this term of leadership about one Branch, by uid. All of it may be lost at any time without harm. Times are
 * monotonic milliseconds.
 */
export interface BranchMemory {
  /** Time at which this term first saw the object. */
  readonly seenSince: number;
  /** The object carried our finalizer then: an earlier term may have sent a create. */
  readonly earlierTerm: boolean;
  /** A list counts for a plan if it began after this. */
  listsAfter: number;
  /** End of the last POST of this term without a usable answer. */
  unansweredPost: number | undefined;
  /** End of the last POST of this term that was answered: the status may lack its branch, and so may lists that lag. */
  answeredPost: number | undefined;
  /** The service says that the name is taken: since when, in its words, and when the create is tried again. */
  nameTaken: { since: number; said: string; triedAt: number; tries: number } | undefined;
  /** The branch that lists lack. */
  missing: Absence | undefined;
  /** The branch whose DELETE the service has answered, and when. */
  deleted: { id: string; at: number } | undefined;
  /** An end that was sent and that the answer did not show. */
  unseenEnd: UnseenEnd | undefined;
  /** One of each expiry: the next attempt for it sends the same end, so it is all one which request lands last. */
  unansweredEnds: readonly UnansweredEnd[];
  /** The fate of the latest request for a value of `resetAt`, since `at`. */
  reset: { value: string; fate: ResetFate; at: number } | undefined;
  /** `branches`: the number of branches in the list from which the write was planned. */
  failed: (FailedWrite<BranchReason> & { branches: number }) | undefined;
  requeue: Due;
  /** A warning says that the lease ends and cannot be renewed. */
  warnedLate: boolean;
  /** A warning says that the branch which has the name ends within a day. */
  warnedTaken: boolean;
  /** Requests of a person, as far as lists since are for them: a reconcile, a reset, the deletion. */
  asked: string | undefined;
  /** Our own patch takes the finalizer away. */
  isReleased: boolean;
  /** Number of branches in the latest list. */
  branches: number;
}

export type ReadonlyMemory = Readonly<BranchMemory>;

export function newMemory(now: number, listsAfter: number, earlierTerm: boolean): BranchMemory {
  return {
    seenSince: now,
    earlierTerm,
    listsAfter,
    unansweredPost: undefined,
    answeredPost: undefined,
    nameTaken: undefined,
    missing: undefined,
    deleted: undefined,
    unseenEnd: undefined,
    unansweredEnds: [],
    reset: undefined,
    failed: undefined,
    requeue: nothingDue,
    asked: undefined,
    branches: 0,
    isReleased: false,
    warnedLate: false,
    warnedTaken: false,
  };
}
