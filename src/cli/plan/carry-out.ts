import type { PatchContext, ProjectAccess, WriteAccess } from "../../operator/compute/execute/context.ts";
import { execute } from "../../operator/compute/execute/execute.ts";
import type { PlanInput } from "../../operator/compute/observe/plan-input.ts";
import { noteApplied } from "../../operator/compute/observe/remember.ts";
import type { Outcome } from "../../operator/compute/outcome.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import { requestsOf, updateStatus } from "../../operator/compute/update-status.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { InMemoryPatcher } from "./in-memory-patcher.ts";
import type { Inventory, Project, Tracked } from "./inventory.ts";

/** A write is never called off half-way: it has its own deadline, and what became of it is to be known. */
const uninterrupted = new AbortController().signal;

/** Without a cluster no CRD goes. */
const uninstalling = { now: () => Promise.resolve(false), lately: () => Promise.resolve(false) };

/**
 * Carries one action out as the operator does, with its executor and its status. What the operator would write into the
 * Compute is written in memory.
 */
export async function carryOut(
  action: Action,
  { observation }: PlanInput,
  { inventory, tracked, clock }: { inventory: Inventory; tracked: Tracked; clock: Clock },
): Promise<Outcome> {
  const { compute, memory, project } = tracked;
  const cluster = new InMemoryPatcher(compute);
  const context: PatchContext = { cluster, clock, memory, signal: uninterrupted, uninstalling };
  const outcome = await execute(action, compute, context, accessTo(project, clock));
  const tools = { cluster, clock, event: () => {} };
  const after = await updateStatus(outcome, observation, undefined, tools, requestsOf(compute));
  noteApplied(memory, after);
  inventory.update(tracked, after);
  return outcome;
}

/** One command has the service to itself: nothing waits for a turn, and the client keeps to the service's limits. */
function accessTo(project: Project, clock: Clock): WriteAccess {
  const { client, listing } = project;
  const watcher: ProjectAccess = {
    listing: listing?.kind === "listed" ? { endpoints: listing.index.all } : undefined,
    client,
    wrote: () => clock.monotonic(),
    operations: {
      follow: (operations) => {
        for (const operation of operations) project.operations.set(operation.id, operation);
      },
      latest: async (endpointID) => {
        const answer = await client.listOperations(project.id, uninterrupted);
        if (answer.kind === "ok") {
          return { kind: "listed", operations: answer.value.filter(({ endpoint_id }) => endpoint_id === endpointID) };
        }
        const isNoCall = answer.kind === "notFound" || answer.kind === "refused" || answer.kind === "forbidden";
        return isNoCall ? { kind: "unsupported" } : { kind: "failed", failure: answer };
      },
    },
  };
  const reservation = { tryTake: () => true, waitMs: 0, closedForMs: 0 };
  return { watcher, client, reservation, gate: { pass: () => undefined } };
}
