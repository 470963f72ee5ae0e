import type { Operation } from "../../api/operation.ts";
import type { Observed } from "../../operator/compute/observe/observation.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import { plan } from "../../operator/compute/plan/plan.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { carryOut } from "./carry-out.ts";
import type { Inventory, Tracked } from "./inventory.ts";
import { leftToOperator } from "./running-operator.ts";

/** Actions that change only the Compute; they are executed in memory to find the next one. */
type InMemory = Extract<Action, { kind: "link" | "restorePending" | "clearPending" | "restarted" }>;

/** The next action at the service, and whether an endpoint was adopted before. */
export interface DryRun {
  action: Exclude<Action, InMemory>;
  /** The input of the plan. */
  observed: Observed;
  adopted: boolean;
}

/** Plans as the operator would, until an action concerns the service or nothing is left to do. */
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
    // Each action is planned from the result of the previous one.
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
