import type { Inventory } from "./inventory.ts";
import { type Leaving, nothingLeaves, type Tracked } from "./tracked.ts";

/**
 * The operator's rules for one kind of object, as a command uses them: its observation, its plan and its executor.
 * `Step` is an action that changes the object alone, so that another action follows; `End` is any other.
 */
export interface Strategy<T extends Tracked, Seen, Step, End, Outcome> {
  observe(tracked: T, inventory: Inventory, leaving: Leaving): Seen;
  /** The operator's action, or the command's refusal in its place. */
  plan(seen: Seen, tracked: T, inventory: Inventory): Planned<Step, End>;
  /** Executes one action. What the operator would write into the object is written in memory. */
  carryOut(action: Step | End, seen: Seen, tracked: T, inventory: Inventory): Promise<Outcome>;
}

export type Planned<Step, End> =
  | { kind: "step"; action: Step; isAdoption: boolean }
  /** `isShown`: the object's status shows the action at once, because the plan of other objects depends on it. */
  | { kind: "end"; action: End; isShown: boolean; warning?: string };

/** The next action at the service. */
export interface DryRun<Seen, End> {
  action: End;
  /** The input of the plan. */
  seen: Seen;
  /** Something that exists was adopted before. */
  adopted: boolean;
  /** A warning for a person. */
  warning?: string;
}

/** Plans as the operator would, until an action concerns the service or nothing is left to do. */
export async function dryRun<T extends Tracked, Seen, Step, End>(
  strategy: Strategy<T, Seen, Step, End, unknown>,
  tracked: T,
  inventory: Inventory,
  leaving: Leaving = nothingLeaves,
): Promise<DryRun<Seen, End>> {
  let adopted = false;
  for (;;) {
    const seen = strategy.observe(tracked, inventory, leaving);
    const planned = strategy.plan(seen, tracked, inventory);
    // Each action is planned from the result of the previous one.
    if (planned.kind === "step" || planned.isShown) {
      await strategy.carryOut(planned.action, seen, tracked, inventory);
    }
    if (planned.kind === "step") adopted ||= planned.isAdoption;
    else {
      const { action, warning } = planned;
      return { action, seen, adopted, ...(warning === undefined ? {} : { warning }) };
    }
  }
}
