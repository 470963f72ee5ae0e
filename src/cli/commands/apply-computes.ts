import type { Outcome } from "../../operator/compute/outcome.ts";
import { isWrite, type WriteAction } from "../../operator/compute/plan/action.ts";
import { isCutOver } from "../../operator/compute/plan/turn.ts";
import { reasons } from "../../operator/compute/words/reasons.ts";
import { pausedForMs } from "../../operator/resources/pause.ts";
import { followsBranch } from "../plan/compute/entry.ts";
import { unownedReplicasLike } from "../plan/compute/left-to-operator.ts";
import { branchOf } from "../plan/compute/named-branch.ts";
import { type ComputeDryRun, computeStrategy } from "../plan/compute/strategy.ts";
import { whatWaits } from "../plan/compute/timing.ts";
import { withoutRetain } from "../plan/messages.ts";
import { dryRun } from "../plan/strategy.ts";
import type { TrackedCompute } from "../plan/tracked.ts";
import { ended, failedWrite, isSentAgain, type Round, type RoundContext, wordsOf } from "./round.ts";

type Rest = Exclude<ComputeDryRun["action"], WriteAction>;

/** Plans a Compute and sends at most one write. */
export async function computeRound(tracked: TrackedCompute, context: RoundContext): Promise<Round> {
  const { inventory, mayWrite } = context;
  const { memory } = tracked;
  const listed = computeStrategy.observe(tracked, inventory, context.open);
  if (listed.kind === "observed") memory.listed(listed);
  const { action, seen } = await dryRun(computeStrategy, tracked, inventory);
  if (isWrite(action)) {
    if (!mayWrite) return { wrote: false };
    const unowned = action.kind === "create" ? unownedReplicasLike(seen) : [];
    if (unowned.length > 0 && memory.known.write === undefined) return ended(false, notCreated(unowned));
    const before = memory.known.failedWrite;
    return sent(action, await computeStrategy.carryOut(action, seen, tracked, inventory), tracked, before);
  }
  // The next member's turn comes once a list shows the end of this one's change.
  if (isCutOver(seen, memory.known, action)) memory.cuts(undefined);
  // The next plan depends on the status. A signature that failed changes none: an endpoint is signed only at rest.
  if (memory.known.signed?.failure === undefined) await computeStrategy.carryOut(action, seen, tracked, inventory);
  if (action.kind === "settled" && (action.reason === "WaitingForWindow" || action.reason === "WaitingForTurn")) {
    if (action.reason === "WaitingForTurn" && isTurnComing(tracked, context))
      return { wrote: false, said: wordsOf(action) };
    const said = wordsOf({ ...action, message: whatWaits(action, seen, inventory.scope) });
    const waits = action.reason === "WaitingForTurn" ? "their turn" : "a window";
    return { wrote: false, end: { ok: true, said, waits } };
  }
  return rested(action, tracked, context);
}

/** True while another replica of the pool is being changed, after which the next has its turn. */
function isTurnComing({ pool, object }: TrackedCompute, { inventory, open }: RoundContext): boolean {
  const goesOn = new Set([...open.computes].map(({ metadata }) => metadata.uid));
  return inventory.tracked.Compute.some(
    (one) =>
      one.pool === pool &&
      one.object.metadata.uid !== object.metadata.uid &&
      goesOn.has(one.object.metadata.uid) &&
      one.memory.known.cutAt !== undefined,
  );
}

function notCreated(unowned: readonly string[]): string {
  const which = unowned.join(", ");
  return `not created: this service has shown no names yet, so an earlier apply may have created one of ${which}, which no manifest claims. Declare them too (export writes the manifests), or set spec.adopt`;
}

function sent(
  write: WriteAction,
  outcome: Outcome,
  { memory }: TrackedCompute,
  before: TrackedCompute["memory"]["known"]["failedWrite"],
): Round {
  const failed = memory.known.failedWrite;
  if (failed === undefined || failed === before || outcome.effect.kind === "restarted") {
    return { wrote: true, said: saidOf(write, outcome) };
  }
  const said = withoutRetain(wordsOf(failed));
  return failedWrite(said, reasons[failed.reason].retryWrite && isSentAgain(failed));
}

function rested(action: Rest, tracked: TrackedCompute, { inventory, open }: RoundContext): Round {
  switch (action.kind) {
    case "settled":
      return ended(true, wordsOf(action));
    case "release":
      return ended(true, action.message);
    case "blocked": {
      const branch = followsBranch(action.reason) ? branchOf(tracked.object, inventory) : undefined;
      if (branch !== undefined && open.branches.has(branch)) return { wrote: false };
      const isPaused = branch !== undefined && pausedForMs(branch.object, inventory.options.clock.now()) !== undefined;
      return ended(isPaused || reasons[action.reason].apply === "done", wordsOf(action));
    }
    case "confirmDeletion":
    case "noop":
      return { wrote: false };
    case "wait": {
      // Another line says what was deleted or created, and how it ended.
      if (tracked.pruned !== undefined && action.reason === "Deleting") return { wrote: false };
      if (action.reason === "CreateUnknown" && tracked.memory.known.write?.made !== undefined) return { wrote: false };
      const what = reasons[action.reason].apply;
      return what === "wait" ? { wrote: false, said: wordsOf(action) } : ended(what === "done", wordsOf(action));
    }
  }
}

/** A write that was sent, as a line for a person. */
function saidOf(write: WriteAction, { effect, condition }: Outcome): string {
  const endpoint = effect.kind === "accepted" ? effect.endpoint : undefined;
  switch (write.kind) {
    case "create":
      if (endpoint === undefined) return condition.kind === "shown" ? condition.message : "nothing was sent";
      return `created ${endpoint.id}${endpoint.name === write.attributes.name ? "" : nameless(endpoint.id)}`;
    case "patch":
      return `changed ${write.fields.join(", ")} of ${write.endpointID}`;
    case "sign":
      return `wrote the signature of the fleet as the name of ${write.endpointID}`;
    case "restart":
      return `restarted ${write.endpointID}`;
    case "rotate":
      return `changed the password of role ${write.role}`;
    case "delete":
      return `deleted ${write.endpointID}`;
  }
}

function nameless(endpointID: string): string {
  return `; this service shows no names, so set spec.adopt to {endpointID: ${endpointID}}; otherwise the next apply cannot recognise it`;
}
