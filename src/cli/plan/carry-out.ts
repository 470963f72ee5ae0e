import { recordFailedWrite } from "../../operator/compute/execute/deferred.ts";
import { execute } from "../../operator/compute/execute/execute.ts";
import { type Observed } from "../../operator/compute/observe/observation.ts";
import type { Outcome } from "../../operator/compute/outcome.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import { plan } from "../../operator/compute/plan/plan.ts";
import { updateStatus } from "../../operator/compute/update-status.ts";
import { requests } from "../../operator/compute/words/failures.ts";
import { shownReason } from "../../operator/objects/conditions-of.ts";
import type { ServiceAccess } from "../../operator/project/access.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { isDerivedUID } from "../manifests/derived-uid.ts";
import { onUnknownBranch } from "./branches.ts";
import { InMemoryPatcher } from "./in-memory-patcher.ts";
import type { CommandScope, Inventory, Project, Tracked } from "./inventory.ts";
import { leftToOperator } from "./running-operator.ts";

/** A write is never aborted: it has a deadline of its own, and its outcome must be known. */
export const uninterrupted = new AbortController().signal;

/** Without a cluster no CRD is deleted. */
const uninstalling = { now: () => Promise.resolve(false), lately: () => Promise.resolve(false) };

/**
 * Executes one action with the operator's executor and status. What the operator would write into the Compute is
 * written in memory.
 */
export async function carryOut(
  action: Action,
  observed: Observed,
  { inventory, tracked, clock }: { inventory: Inventory; tracked: Tracked; clock: Clock },
): Promise<Outcome> {
  const { state, project } = tracked;
  const { compute, annotations } = observed;
  const cluster = new InMemoryPatcher(compute);
  const access = accessTo(project, clock);
  const stored = () => undefined;
  const context = { compute, annotations, cluster, clock, stored, state, signal: uninterrupted, uninstalling, access };
  const outcome = await execute(action, context);
  const { signed } = state.known;
  if (action.kind === "sign" && signed?.failure !== undefined) {
    // The operator tries again in ten minutes; a command has the back-off of any other write.
    recordFailedWrite(action, signed.failure, requests.sign(action.endpointID), compute, context, access);
    state.signed({ ...signed, renewAt: 0 });
  }
  const secret = { binding: undefined, unchecked: false };
  const written = { cluster, clock, state, event: () => {}, isStopping: () => true };
  const after = await updateStatus(outcome, observed, secret, written);
  state.reported(after.status);
  inventory.update(tracked, after);
  return outcome;
}

/** One command uses the service alone: nothing waits for a turn, and the client respects the service's limits. */
export function accessTo(project: Project, clock: Clock): ServiceAccess {
  const { client, listing } = project;
  const listed = listing?.kind === "listed" ? listing : undefined;
  const lister: ServiceAccess["lister"] = {
    listing: listed,
    observed: listed,
    underWay: new Set(),
    wrote: () => clock.monotonic(),
    answered: () => clock.monotonic(),
    operations: {
      follow: (operations) => {
        for (const operation of operations) project.operations.set(operation.id, operation);
      },
    },
  };
  const reservation = { tryTake: () => true, waitMs: 0, closedForMs: 0 };
  return { lister, client, reservation, gate: { pass: () => undefined, answered: () => {}, enqueuesRefused: false } };
}

/** Actions that change only the Compute; they are executed in memory to find the next one. */
type InMemory = Extract<Action, { kind: "link" | "resolve" | "restoreFinalizer" | "restarted" }>;

/** The next action at the service, whether an endpoint was adopted before, and what a person is warned of. */
export interface DryRun {
  action: Exclude<Action, InMemory>;
  /** The input of the plan. */
  observed: Observed;
  adopted: boolean;
  warning?: string;
}

/** Resolves the name of the branch before anything is planned: a claim to a primary counts once it has an id. */
export async function resolveName(inventory: Inventory, tracked: Tracked, clock: Clock): Promise<void> {
  const observed = inventory.observe(tracked);
  const action = plan(observed, tracked.state.known);
  if (action.kind === "resolve") await carryOut(action, observed, { inventory, tracked, clock });
}

/** Plans as the operator would, until an action concerns the service or nothing is left to do. */
export async function dryRun(inventory: Inventory, tracked: Tracked, clock: Clock): Promise<DryRun> {
  let adopted = false;
  for (;;) {
    const observed = inventory.observe(tracked);
    const first = plan(observed, tracked.state.known);
    // The operator goes on after the event with this warning; here the create's line shows it.
    const warnsOf = first.kind === "wait" ? first.warnsOf : undefined;
    const action =
      warnsOf === undefined ? first : plan(observed, { ...tracked.state.known, told: { formers: warnsOf } });
    if (!isInMemory(action) && !isToBeSigned(action, observed, tracked, inventory.scope)) {
      const unknown = onUnknownBranch(action, observed, tracked.project);
      const next = unknown ?? leftToOperator(action, observed, inventory.scope);
      const warning = first.kind === "wait" && next.kind === "create" ? { warning: first.message } : {};
      return { action: next, observed, adopted, ...warning };
    }
    adopted ||= action.kind === "link" && action.news === "adopted";
    // Each action is planned from the result of the previous one.
    await carryOut(action, observed, { inventory, tracked, clock });
  }
}

/**
 * True for an endpoint from before apply was given the fleet: it is signed once at rest, which the status has to show.
 */
function isToBeSigned(action: Action, { compute }: Observed, { state }: Tracked, { fleet }: CommandScope): boolean {
  if (action.kind !== "settled" || fleet === undefined || !isDerivedUID(compute.metadata.uid)) return false;
  return shownReason(compute) !== action.reason && state.known.signed === undefined;
}

function isInMemory(action: Action): action is InMemory {
  return (
    action.kind === "link" ||
    action.kind === "resolve" ||
    action.kind === "restoreFinalizer" ||
    action.kind === "restarted"
  );
}
