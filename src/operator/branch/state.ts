import type { BranchReason } from "./reasons.ts";

/** A write that failed, until it may be sent again. */
export interface FailedWrite {
  write: string;
  /** Of the base URL and key that it was sent with. */
  through: string;
  until: number;
  reason: BranchReason;
  message: string;
  failures: number;
  /** How many branches the list had that it was planned from. */
  branches: number;
}

export interface UnseenEnd {
  expiry: string;
  at: string | undefined;
  /** When it was last sent, and how often before. */
  sentAt: number;
  resent: number;
  /** The first list since that does not show it either. */
  differsSince: number | undefined;
}

/**
 * What this term of leadership remembers of one Branch, by uid. All of it may be lost at any time without harm. Times
 * are monotonic milliseconds.
 */
export interface BranchMemory {
  /** When this term first saw the object. */
  readonly seenSince: number;
  /** The object carried our finalizer then: an earlier term may have sent a create. */
  readonly earlierTerm: boolean;
  /** A list counts for a plan if it began after this. */
  listsAfter: number;
  /** When the last POST of this term without a usable answer ended. */
  unansweredPost: number | undefined;
  /** The service says that the name is taken: since when, in its words, and when the create is tried again. */
  nameTaken: { since: number; said: string; triedAt: number; tries: number } | undefined;
  /** A branch that lists lack: since the request of the first of them. `proved`: its own GET says so too. */
  missing: { id: string; since: number; proved: boolean } | undefined;
  /** The branch whose DELETE the service has answered, and when. */
  deleted: { id: string; at: number } | undefined;
  /** An end that was sent and that the answer did not show. */
  unseenEnd: UnseenEnd | undefined;
  /** The value of `resetAt` whose request the service may still carry out, and when that ended. */
  unansweredReset: { value: string; at: number } | undefined;
  /** The value of `resetAt` whose request the service has refused: nothing of it is on its way. */
  refusedReset: string | undefined;
  failed: FailedWrite | undefined;
  /** How often in a row the reason was shown, and since when. */
  shown: { reason: BranchReason; count: number; since: number; lastAt: number } | undefined;
  /** When a reconcile with a newer list is due. */
  dueAt: number | undefined;
  /** A warning says that the lease ends and cannot be renewed. */
  warnedLate: boolean;
  /** A warning says that the branch which has the name ends within a day. */
  warnedTaken: boolean;
  /** What a person has asked for, as far as lists since are for it: a reconcile, a reset, the deletion. */
  asked: string | undefined;
  /** How many branches the latest list had. */
  branches: number;
}

export type ReadonlyMemory = Readonly<BranchMemory>;

export function newMemory(now: number, listsAfter: number, earlierTerm: boolean): BranchMemory {
  return {
    seenSince: now,
    earlierTerm,
    listsAfter,
    unansweredPost: undefined,
    nameTaken: undefined,
    missing: undefined,
    deleted: undefined,
    unseenEnd: undefined,
    unansweredReset: undefined,
    refusedReset: undefined,
    failed: undefined,
    shown: undefined,
    dueAt: undefined,
    asked: undefined,
    branches: 0,
    warnedLate: false,
    warnedTaken: false,
  };
}
