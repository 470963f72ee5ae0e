import type { ListedBranch } from "../../api/branch.ts";
import type { Outcome as KindOutcome } from "../life/outcome.ts";
import type { Branch } from "../resources/branch.ts";
import type { StatusNews } from "./action.ts";
import type { BranchReason } from "./reasons.ts";

/** The result of a reconcile: status, events and the next reconcile follow from it. */
export interface Outcome extends KindOutcome<BranchReason> {
  /** As it is after the reconcile's patches. */
  object: Branch;
  news: StatusNews;
  /** The branch as an answer shows it, which is newer than any list. */
  answered: ListedBranch | undefined;
  /** The spec of this generation is applied at the service. */
  isApplied: boolean;
}

type Rest = Partial<Omit<Outcome, "object" | "condition">>;

const nothingElse = {
  news: {},
  answered: undefined,
  isApplied: false,
  events: [],
  requeue: { kind: "byReason" },
} as const;

export function unchanged(object: Branch, rest: Rest = {}): Outcome {
  return { object, condition: { kind: "unchanged" }, ...nothingElse, ...rest };
}

export function shown(object: Branch, said: { reason: BranchReason; message: string }, rest: Rest = {}): Outcome {
  return { object, condition: { kind: "shown", ...said }, ...nothingElse, ...rest };
}
