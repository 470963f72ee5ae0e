import type { BranchWrite } from "../../operator/branch/action.ts";
import type { Outcome } from "../../operator/branch/outcome.ts";
import { type BranchReason, branchReasons } from "../../operator/branch/reasons.ts";
import { stepOf } from "../plan/branch/entry.ts";
import { isOccupied } from "../plan/branch/observe.ts";
import { branchStrategy } from "../plan/branch/strategy.ts";
import { dryRun } from "../plan/strategy.ts";
import type { TrackedBranch } from "../plan/tracked.ts";
import { ended, failedWrite, isSentAgain, type Round, type RoundContext, wordsOf } from "./round.ts";

/** Plans a Branch and sends at most one write. */
export async function branchRound(tracked: TrackedBranch, context: RoundContext): Promise<Round> {
  const { inventory, open } = context;
  const { action, seen } = await dryRun(branchStrategy, tracked, inventory, open);
  const mayWrite = context.mayWrite && !isOccupied(tracked, inventory);
  if (action.kind === "write" && !mayWrite) return { wrote: false };
  if (action.kind === "show") return shown(action, tracked, [...open.branches]);
  const { failed } = tracked.memory;
  const done = await branchStrategy.carryOut(action, seen, tracked, inventory);
  switch (action.kind) {
    case "release":
      return ended(true, action.message);
    case "write":
      return sent(action.write, done, tracked, failed);
    case "probe":
    case "compute":
    case "noop":
      return { wrote: false };
  }
}

function shown(
  action: { reason: BranchReason; message: string },
  tracked: TrackedBranch,
  open: readonly TrackedBranch[],
): Round {
  const { reason } = action;
  const said = wordsOf(action);
  const step = stepOf(reason, tracked, open);
  if (step === "none" || reason === "Paused") return ended(true, said);
  const isOver = step === "refuse" || (step === "error" && branchReasons[reason].requeue !== "backoff");
  return isOver ? ended(false, said) : { wrote: false, said };
}

function sent(
  write: BranchWrite,
  { condition }: Outcome,
  { memory, object }: TrackedBranch,
  before: TrackedBranch["memory"]["failed"],
): Round {
  const { failed } = memory;
  if (failed === undefined) return { wrote: true, said: saidOf(write, object) };
  const said = wordsOf(failed);
  // The same failure as before: its back-off is not over, and nothing was sent.
  if (failed === before) return { wrote: false, said };
  // A create that finds its name taken is no failure: its message says what comes next.
  if (failed.reason === "BranchExists" && condition.kind === "shown") {
    return failedWrite(wordsOf(condition), condition.reason !== "BranchExists");
  }
  return failedWrite(said, branchReasons[failed.reason].stalled === false && isSentAgain(failed));
}

function saidOf(write: BranchWrite, { status }: TrackedBranch["object"]): string {
  switch (write.op) {
    case "create":
      return `created ${status.branchID}`;
    case "patch":
      return `changed ${write.why === "protection" ? "the protection" : "the end"} of ${write.id}`;
    case "reset":
      return `reset ${write.id}`;
    case "delete":
      return `deleted ${write.id}`;
  }
}
