import { planOf } from "../accounts/owner.ts";
import type { ServiceContext } from "../context.ts";
import { refuseLong } from "../kept-size.ts";
import { refusals, required } from "../refusal.ts";
import { sets, withRequested } from "../store/compute-attributes.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";
import { type Step, schedule, steps } from "./chain.ts";
import { type Changed, refuseFullBranch } from "./create.ts";
import { checkSettings, checkSizes, checkSuspension } from "./limits.ts";
import { refuseWhileLocked } from "./lock.ts";
import { meter } from "./meter.ts";
import type { ChangedEndpoint } from "./requests.ts";

/** The work that brings a change of a compute into effect. */
type Consequence =
  | { kind: "none" }
  /** Applied while it runs: connections stay. */
  | { kind: "apply" }
  /** Running, it is restarted with the new configuration: connections are cut. */
  | { kind: "restart" }
  /** Not running, it comes up for the moment that the change takes. */
  | { kind: "apply-idle" }
  /** Moved to another branch, it is left idle there: connections are cut. */
  | { kind: "move" }
  /** Closed to connections, it is suspended; while it wakes it is busy. */
  | { kind: "suspend" };

/** Changes a compute. What is left out stays; a change that changes nothing sets nothing off. */
export function changeEndpoint(
  context: ServiceContext,
  project: Project,
  before: StoredEndpoint,
  wanted: ChangedEndpoint,
  at: number,
): Changed {
  const { branches, endpoints } = context.store;
  const after = merged(context, before, wanted);
  const { rules } = context.options;
  const plan = planOf(context.store, project.owner);
  const resized = after.minCu !== before.minCu || after.maxCu !== before.maxCu;
  if (resized) checkSizes(rules, plan, { min: after.minCu, max: after.maxCu });
  if (wanted.suspend_timeout_seconds !== undefined) checkSuspension(rules, plan, wanted.suspend_timeout_seconds);
  if (after.branchId !== before.branchId) {
    const target = required("branch", branches.get(project.id, after.branchId));
    if (before.type === "read_write" && endpoints.primaryOf(target.id)) throw refusals.secondPrimary();
    if (target.currentState !== "ready") throw refusals.notReady("branch");
    refuseFullBranch(context, target.id);
  }
  if (wanted.settings) refuseLong("settings", after.settings, () => endpoints.lengthOfSettings(project.id));
  if (wanted.settings || resized) checkSettings(context, project, after);
  if (same(before, after)) return { endpoint: before, operations: [] };

  meter(context, before, at);
  after.meteredAt = before.meteredAt;
  after.updatedAt = at;
  const consequence = consequenceOf(before, after);
  if (consequence.kind === "none") {
    endpoints.update(after);
    return { endpoint: after, operations: [] };
  }
  refuseWhileLocked(context, project.id, before.id);
  const { work, pendingState } = plans[consequence.kind];
  if (consequence.kind !== "apply" && context.backend.disconnect(after)) after.lastActive = at;
  if (consequence.kind === "move") Object.assign(after, { currentState: "idle", meteredAt: undefined });
  return { endpoint: after, operations: schedule(context, { endpoint: after, at, pendingState }, work) };
}

interface Plan {
  work: readonly Step[];
  pendingState: "active" | "idle";
}

const applyAndSuspend: Plan = { work: [steps.apply, steps.suspend], pendingState: "idle" };

const plans: Record<Exclude<Consequence["kind"], "none">, Plan> = {
  apply: { work: [steps.apply], pendingState: "active" },
  restart: { work: [steps.restart], pendingState: "active" },
  "apply-idle": applyAndSuspend,
  move: applyAndSuspend,
  suspend: { work: [steps.suspend], pendingState: "idle" },
};

function consequenceOf(before: StoredEndpoint, after: StoredEndpoint): Consequence {
  if (after.branchId !== before.branchId) return { kind: "move" };
  const running = before.currentState !== "idle";
  const wakes = before.pendingState === "active";
  if ((running || wakes) && after.disabled && !before.disabled) return { kind: "suspend" };
  if (sets("restart", before, after)) return { kind: running ? "restart" : "apply-idle" };
  if (sets("reconfigure", before, after)) return { kind: running ? "apply" : "apply-idle" };
  return { kind: running && sets("apply", before, after) ? "apply" : "none" };
}

function merged(context: ServiceContext, before: StoredEndpoint, wanted: ChangedEndpoint): StoredEndpoint {
  return {
    ...before,
    branchId: wanted.branch_id ?? before.branchId,
    name: (context.options.strictSpec ? undefined : wanted.name) ?? before.name,
    ...withRequested(before, wanted),
  };
}

function same(one: StoredEndpoint, other: StoredEndpoint): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
