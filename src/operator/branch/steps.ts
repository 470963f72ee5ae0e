import { guard } from "./guard.ts";
import { planBranch } from "./plan/plan.ts";

/** The pure parts of a reconcile, in the order of their use. */
export interface BranchParts {
  plan: typeof planBranch;
  guard: typeof guard;
}

/** The parts of a reconcile as `run` uses them. */
export const branchParts: BranchParts = { plan: planBranch, guard };
