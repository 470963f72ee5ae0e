import type { ListedBranch } from "../../api/branch.ts";
import type { Branch } from "../resources/branch.ts";
import type { PlannedEvent, StatusNews } from "./action.ts";
import type { BranchReason } from "./reasons.ts";

/** The result of a reconcile: status, events and the next reconcile follow from it. */
export interface Outcome {
  /** As it is after the reconcile's patches. */
  object: Branch;
  /** `undefined`: nothing new is known. */
  shown: { reason: BranchReason; message: string } | undefined;
  news: StatusNews;
  /** The branch as an answer shows it, which is newer than any list. */
  answered: ListedBranch | undefined;
  /** The spec of this generation is applied at the service. */
  isApplied: boolean;
  events: readonly PlannedEvent[];
  /** `enqueued`: what it waits for enqueues it. A number: in so many milliseconds. */
  requeue: "byReason" | "enqueued" | number;
  /** The next reconcile needs no list of its own. */
  keepsList: boolean;
  released: boolean;
}

export function outcome(object: Branch, more: Partial<Outcome> = {}): Outcome {
  return {
    object,
    shown: undefined,
    news: {},
    answered: undefined,
    isApplied: false,
    events: [],
    requeue: "byReason",
    keepsList: false,
    released: false,
    ...more,
  };
}
