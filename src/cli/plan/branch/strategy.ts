import type { BranchAction } from "../../../operator/branch/action.ts";
import { noteList } from "../../../operator/branch/begin.ts";
import { execute } from "../../../operator/branch/execute.ts";
import { guard, insteadOf } from "../../../operator/branch/guard.ts";
import type { Observation, Unobserved } from "../../../operator/branch/observation.ts";
import type { Outcome } from "../../../operator/branch/outcome.ts";
import { planBranch } from "../../../operator/branch/plan/plan.ts";
import { noteVersion } from "../../../operator/branch/record.ts";
import { nextStatus } from "../../../operator/branch/status.ts";
import { accessTo, uninterrupted } from "../direct-access.ts";
import { InMemoryPatcher } from "../in-memory-patcher.ts";
import { withoutRetain } from "../messages.ts";
import type { DryRun, Planned, Strategy } from "../strategy.ts";
import type { TrackedBranch } from "../tracked.ts";
import { leftToOperator } from "./left-to-operator.ts";
import { observe } from "./observe.ts";

type Seen = Observation | Unobserved;
type Step = Extract<BranchAction, { kind: "note" }>;
type End = Exclude<BranchAction, { kind: "note" }>;

export type BranchDryRun = DryRun<Seen, End>;

export const branchStrategy: Strategy<TrackedBranch, Seen, Step, End, Outcome> = {
  observe(tracked, inventory, leaving) {
    const seen = observe(tracked, inventory, leaving);
    noteVersion(tracked.memory, tracked.object, inventory.options.clock.monotonic());
    if (seen.kind === "observed") noteList(tracked.memory, seen);
    return seen;
  },
  plan(seen, tracked, inventory): Planned<Step, End> {
    const planned = guarded(planBranch(seen, tracked.memory), seen);
    if (planned.kind === "note") {
      return { kind: "step", action: planned, isAdoption: planned.event?.reason === "Adopted" };
    }
    const left = leftToOperator(planned, seen, tracked.project, inventory.scope);
    const isPruned = tracked.pruned !== undefined && left.kind === "show";
    const action = isPruned ? { ...left, message: withoutRetain(left.message) } : left;
    // The reason shown decides whether the Computes that name the Branch may go on.
    return { kind: "end", action, isShown: action.kind === "show" };
  },
  async carryOut(action, seen, tracked, inventory) {
    const { object, memory, project } = tracked;
    const { clock, scope } = inventory.options;
    const done = await execute(guarded(action, seen), {
      object,
      memory,
      cluster: new InMemoryPatcher(object),
      clock,
      signal: uninterrupted,
      fleet: scope.fleetName,
      access: accessTo(project, clock),
      uninstalling: () => Promise.resolve(false),
      ownsStill: () => Promise.resolve(true),
      // The owned Compute is planned as a Compute of its own.
      compute: () => Promise.resolve(),
    });
    const status = nextStatus(done, seen, memory, clock.now());
    tracked.object = status === undefined ? done.object : { ...done.object, status };
    return done;
  },
};

/** The action that is carried out: what the operator's last guard stops is not sent, and `plan` shows why. */
function guarded(action: BranchAction, seen: Seen): BranchAction {
  const stop = guard(action, seen);
  return stop === undefined ? action : insteadOf(stop, seen);
}
