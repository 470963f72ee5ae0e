import type { Operation } from "../../api/operation.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import { plan } from "../../operator/compute/plan/plan.ts";
import { isOnPaper, type OnPaper, onPaper } from "./in-memory-writes.ts";
import type { Inventory, Tracked } from "./inventory.ts";
import { leftToOperator } from "./running-operator.ts";

/** What is to be done at the service next, and whether an endpoint was taken over on the way there. */
export interface DryRun {
  action: Exclude<Action, OnPaper>;
  adopted: boolean;
}

/** Plans as the operator would, pass by pass, until a step concerns the service or nothing more is to be done. */
export function dryRun(survey: Inventory, tracked: Tracked, recent?: readonly Operation[]): DryRun {
  let adopted = false;
  for (;;) {
    const view = survey.view(tracked, recent);
    const action = plan(view);
    if (!isOnPaper(action)) return { action: leftToOperator(action, view), adopted };
    adopted ||= action.kind === "link" && action.news === "adopted";
    survey.update(tracked, onPaper(action, tracked.compute));
  }
}
