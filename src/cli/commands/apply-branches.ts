import type { BranchWrite } from "../../operator/branch/action.ts";
import type { Outcome } from "../../operator/branch/outcome.ts";
import { type BranchReason, branchReasons } from "../../operator/branch/reasons.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { stepOf } from "../plan/branch-entry.ts";
import type { Leaving, TrackedBranch } from "../plan/branch-inventory.ts";
import { carryOutBranch, dryRunBranch } from "../plan/carry-out-branch.ts";
import type { Inventory } from "../plan/inventory.ts";

/** Result of one round for a Branch: a write was sent, it waits, or it has come to its end. */
export interface BranchRound {
  wrote: boolean;
  end?: { ok: boolean; said: string };
  said?: string;
}

/** The same write is given up after this many failures in a row. */
const mostFailures = 8;

/** True if a write that failed may be sent again. One that was only put off has done nothing: --timeout ends it. */
export function isSentAgain({ reason, failures }: { reason: string; failures: number }): boolean {
  return reason === "ProjectBusy" || reason === "RateLimited" || failures + 1 < mostFailures;
}

/**
 * Plans a Branch and sends at most one write; `mayWrite`: none of its project's was sent in this round; `open`: what
 * has not come to its end.
 */
export async function branchRound(
  tracked: TrackedBranch,
  { inventory, clock, mayWrite, open }: { inventory: Inventory; clock: Clock; mayWrite: boolean; open: Leaving },
): Promise<BranchRound> {
  const { action, observed } = await dryRunBranch(inventory, tracked, clock, open);
  if (action.kind === "write" && !mayWrite) return { wrote: false };
  if (action.kind === "show") return shown(action, tracked, [...open.branches]);
  const { failed, nameTaken } = tracked.memory;
  const done = await carryOutBranch(action, observed, { inventory, tracked, clock });
  switch (action.kind) {
    case "release":
      return { wrote: false, end: { ok: true, said: action.message } };
    case "write":
      return sent(action.write, done, tracked, { failed, nameTaken });
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
): BranchRound {
  const { reason } = action;
  const said = wordsOf(action);
  const step = stepOf(reason, tracked, open);
  if (step === "none" || reason === "Paused") return { wrote: false, end: { ok: true, said } };
  const isLasting = step === "refuse" || (step === "error" && branchReasons[reason].requeue !== "backoff");
  return isLasting ? { wrote: false, end: { ok: false, said } } : { wrote: false, said };
}

function sent(
  write: BranchWrite,
  { condition }: Outcome,
  { memory, object }: TrackedBranch,
  before: Pick<TrackedBranch["memory"], "failed" | "nameTaken">,
): BranchRound {
  const { failed, nameTaken } = memory;
  // A create that finds its name taken is no failure: its message says what comes next.
  if (nameTaken !== undefined && nameTaken !== before.nameTaken && condition.kind === "shown") {
    const said = wordsOf(condition);
    return condition.reason === "BranchExists" ? { wrote: true, end: { ok: false, said } } : { wrote: true, said };
  }
  if (failed === undefined) return { wrote: true, said: saidOf(write, object) };
  const said = wordsOf(failed);
  // The same failure as before: its back-off is not over, and nothing was sent.
  if (failed === before.failed) return { wrote: false, said };
  const isFinal = branchReasons[failed.reason].stalled !== false || !isSentAgain(failed);
  return isFinal ? { wrote: true, end: { ok: false, said } } : { wrote: true, said };
}

const wordsOf = ({ reason, message }: { reason: string; message: string }) => `${reason}: ${message}`;

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
