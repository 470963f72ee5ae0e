import type { FailedWrite } from "../life/back-off.ts";
import { type Due, nothingDue } from "../life/due.ts";
import type { Absence } from "../life/gone.ts";
import { opened, unsent, type Write } from "../life/record.ts";
import type { ResetRecord } from "../resources/branch.ts";
import type { BranchEnd } from "./action.ts";
import type { BranchReason } from "./reasons.ts";

/** A create, which needs no record in the status: its name prevents a second branch, and the finalizer precedes it. */
export interface PostRecord {
  /** `earlier`: an earlier process may have sent it. */
  by: "own" | "earlier";
}

/** An end that was sent: open without a usable answer, closed by an answer, and forgotten once an answer shows it. */
export interface EndWrite extends Write<BranchEnd> {
  /** Number of answers that did not show it. */
  readonly unseen: number;
  /** The first list since the last answer that does not show it either. */
  readonly differsSince: number | undefined;
}

/**
 * Memory of this term of leadership about one Branch, by uid. All of it may be lost at any time without harm. Times are
 * monotonic milliseconds.
 */
export interface BranchMemory {
  /** A list counts for a plan if it began after this. */
  listsAfter: number;
  /** The last create. It stays open, and its time counts, though a later one is answered. */
  post: Write<PostRecord> | undefined;
  /** The branch that lists lack. */
  missing: Absence | undefined;
  /** The branch whose DELETE the service has answered, and when. */
  deleted: { id: string; at: number } | undefined;
  /** One of each expiry: the next attempt for it sends the same end, so it does not matter which request lands last. */
  ends: readonly EndWrite[];
  /** The last reset, as the status records it while it is open. */
  reset: Write<ResetRecord> | undefined;
  /** Ids of the operations of the last reset that was sent, as its answer names them. */
  resetOperations: readonly string[];
  /**
   * `branches`: the number of branches in the list from which the write was planned. `BranchExists`: the service says
   * that the name is taken; the failures are counted from the first time that it did.
   */
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

/** `mayHavePosted`: the object carried our finalizer when this term first saw it. */
export function newMemory(now: number, listsAfter: number, mayHavePosted: boolean): BranchMemory {
  return {
    listsAfter,
    post: mayHavePosted ? opened(unsent<PostRecord>({ by: "earlier" }), now) : undefined,
    missing: undefined,
    deleted: undefined,
    ends: [],
    reset: undefined,
    resetOperations: [],
    failed: undefined,
    requeue: nothingDue,
    asked: undefined,
    branches: 0,
    isReleased: false,
    warnedLate: false,
    warnedTaken: false,
  };
}
