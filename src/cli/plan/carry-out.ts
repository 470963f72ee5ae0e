import type { ServiceAccess } from "../../operator/compute/execute/context.ts";
import { execute } from "../../operator/compute/execute/execute.ts";
import type { Observed } from "../../operator/compute/observe/observation.ts";
import type { Outcome } from "../../operator/compute/outcome.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import { updateStatus } from "../../operator/compute/update-status.ts";
import { type Latest, latestIn } from "../../operator/connection/operations.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { InMemoryPatcher } from "./in-memory-patcher.ts";
import type { Inventory, Project, Tracked } from "./inventory.ts";

/** A write is never aborted: it has a deadline of its own, and its outcome must be known. */
const uninterrupted = new AbortController().signal;

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
  const context = { compute, annotations, cluster, clock, state, signal: uninterrupted, uninstalling, access };
  const outcome = await execute(action, context);
  const secret = { binding: undefined, unchecked: false };
  const after = await updateStatus(outcome, observed, secret, { cluster, clock, event: () => {} });
  state.reported(after.status);
  inventory.update(tracked, after);
  return outcome;
}

/** One command uses the service alone: nothing waits for a turn, and the client respects the service's limits. */
function accessTo(project: Project, clock: Clock): ServiceAccess {
  const { client, listing } = project;
  const lister: ServiceAccess["lister"] = {
    listing: listing?.kind === "listed" ? listing : undefined,
    wrote: () => clock.monotonic(),
    operations: {
      follow: (operations) => {
        for (const operation of operations) project.operations.set(operation.id, operation);
      },
      latest: (endpointID) => latestOperations(project, endpointID, uninterrupted),
    },
  };
  const reservation = { tryTake: () => true, waitMs: 0, closedForMs: 0 };
  return { lister, client, reservation, gate: { pass: () => undefined } };
}

/** The latest operations of an endpoint, including those of other writers. */
export async function latestOperations(
  { client, id }: Project,
  endpointID: string,
  signal: AbortSignal,
): Promise<Latest> {
  const answer = await client.listOperations(id, signal);
  if (answer.kind === "ok") return latestIn(answer.value, endpointID);
  const isNoCall = answer.kind === "notFound" || answer.kind === "refused" || answer.kind === "forbidden";
  return isNoCall ? { kind: "unsupported" } : { kind: "failed", failure: answer };
}
