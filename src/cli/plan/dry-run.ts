import type { Operation } from "../../api/operation.ts";
import type { Observed } from "../../operator/compute/observe/observation.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import { plan } from "../../operator/compute/plan/plan.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { carryOut } from "./carry-out.ts";
import type { Inventory, Tracked } from "./inventory.ts";
import { leftToOperator } from "./running-operator.ts";

/** Actions that change only the Compute: in memory they can be carried out to see what follows. */
type InMemory = Extract<Action, { kind: "link" | "restorePending" | "clearPending" | "restarted" }>;

/** What is to be done at the service next, and whether an endpoint was taken over on the way there. */
export interface DryRun {
  action: Exclude<Action, InMemory>;
  /** What the action was planned from. */
  observed: Observed;
  adopted: boolean;
}

/** Plans as the operator would, until an action concerns the service or nothing more is to be done. */
export async function dryRun(
  inventory: Inventory,
  tracked: Tracked,
  clock: Clock,
  recent?: readonly Operation[],
): Promise<DryRun> {
  let adopted = false;
  for (;;) {
    const observed = inventory.observe(tracked, recent);
    const action = plan(observed, tracked.state.known);
    if (!isInMemory(action)) return { action: leftToOperator(action, observed), observed, adopted };
    adopted ||= action.kind === "link" && action.news === "adopted";
    // Each action is planned from what the one before left.
    await carryOut(action, observed, { inventory, tracked, clock });
  }
}

function isInMemory(action: Action): action is InMemory {
  return (
    action.kind === "link" ||
    action.kind === "restorePending" ||
    action.kind === "clearPending" ||
    action.kind === "restarted"
  );
}
