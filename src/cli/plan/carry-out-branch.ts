import type { BranchAction } from "../../operator/branch/action.ts";
import { execute } from "../../operator/branch/execute.ts";
import type { Observation, Unobserved } from "../../operator/branch/observation.ts";
import type { Outcome } from "../../operator/branch/outcome.ts";
import { planBranch } from "../../operator/branch/plan/plan.ts";
import { noteList } from "../../operator/branch/remember.ts";
import { nextStatus } from "../../operator/branch/status.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import type { Leaving, TrackedBranch } from "./branch-inventory.ts";
import { branchLeftToOperator } from "./branch-left-to-operator.ts";
import { accessTo, uninterrupted } from "./carry-out.ts";
import { InMemoryPatcher } from "./in-memory-patcher.ts";
import type { Inventory } from "./inventory.ts";
import { withoutRetain } from "./messages.ts";

/** The next action on a Branch at the service, and whether a branch was adopted before. */
export interface BranchDryRun {
  action: Exclude<BranchAction, { kind: "note" }>;
  /** The input of the plan. */
  observed: Observation | Unobserved;
  adopted: boolean;
}

/**
 * Executes one action with the operator's executor and status. What the operator would write into the Branch is written
 * in memory.
 */
export async function carryOutBranch(
  action: BranchAction,
  observed: Observation | Unobserved,
  { inventory, tracked, clock }: { inventory: Inventory; tracked: TrackedBranch; clock: Clock },
): Promise<Outcome> {
  const { object, memory, project } = tracked;
  const done = await execute(action, {
    object,
    memory,
    cluster: new InMemoryPatcher(object),
    clock,
    signal: uninterrupted,
    fleet: inventory.scope.fleetName,
    access: accessTo(project, clock),
    uninstalling: () => Promise.resolve(false),
    ownsStill: () => Promise.resolve(true),
    // The owned Compute is planned as a Compute of its own.
    compute: () => Promise.resolve(),
  });
  const status = nextStatus(done, observed, memory, clock.now());
  tracked.object = status === undefined ? done.object : { ...done.object, status };
  return done;
}

/** Plans as the operator would, until an action concerns the service or nothing is left to do. */
export async function dryRunBranch(
  inventory: Inventory,
  tracked: TrackedBranch,
  clock: Clock,
  leaving?: Leaving,
): Promise<BranchDryRun> {
  let adopted = false;
  for (;;) {
    const observed = inventory.branches.observe(tracked, inventory.computes, leaving);
    if (observed.kind === "observed") noteList(tracked.memory, observed);
    const planned = planBranch(observed, tracked.memory);
    const left = branchLeftToOperator(planned, observed, tracked.project, inventory.scope);
    const isPruned = tracked.pruned !== undefined && left.kind === "show";
    const action = isPruned ? { ...left, message: withoutRetain(left.message) } : left;
    // The reason shown decides whether the Computes that name the Branch may go on.
    if (action.kind === "note" || action.kind === "show") {
      await carryOutBranch(action, observed, { inventory, tracked, clock });
    }
    if (action.kind !== "note") return { action, observed, adopted };
    adopted ||= action.event?.reason === "Adopted";
  }
}
