import { isAboutBranch, isTaken } from "../../api/error.ts";
import { requeueDelay } from "../conditions/rows.ts";
import { failedNow } from "../life/failed-write.ts";
import { after, atOnce } from "../life/outcome.ts";
import type { ServiceAccess } from "../project/service-access.ts";
import type { Branch } from "../resources/branch.ts";
import type { Failure } from "../service-client/answer.ts";
import { type BranchWrite, identityOf } from "./action.ts";
import type { ExecuteContext } from "./context.ts";
import type { BranchMemory } from "./memory.ts";
import { type Outcome, shown, unchanged } from "./outcome.ts";
import { type BranchReason, branchReasons } from "./reasons.ts";
import * as words from "./words.ts";

/** A deletion that finds nothing has done its work; a name that is taken is looked for; all else is retried. */
export function refused(
  planned: BranchWrite,
  failure: Failure,
  context: Pick<ExecuteContext, "object" | "memory" | "clock">,
  access: ServiceAccess,
): Outcome {
  const { object, memory, clock } = context;
  const now = clock.monotonic();
  if (failure.kind === "superseded") return unchanged(object, { requeue: atOnce });
  if (planned.op === "delete" && failure.kind === "notFound" && isAboutBranch(failure.message)) {
    memory.deleted = { id: planned.id, at: now };
    return shown(object, { reason: "Deleting", message: words.deleting.sent(planned.id) }, { requeue: after(1000) });
  }
  if (planned.op === "create" && isNameTaken(failure))
    return nameTaken(planned.name, failure.message, object, memory, now);
  const what = planned.op === "create" ? words.doing.create(planned.name) : words.doing[planned.op](planned.id);
  const meaning: { reason: BranchReason; message: string } =
    planned.op === "create" && failure.kind === "ambiguous"
      ? { reason: "CreateUnknown", message: words.creating.unknown }
      : words.meaningOf(failure, what);
  const write = identityOf(planned, object.metadata.generation ?? 0);
  const attempt = { write, uid: object.metadata.uid, before: memory.failed };
  const { requeue } = branchReasons[meaning.reason];
  const { failed, waitMs, isEnqueued, isNews } = failedNow(attempt, failure, { ...meaning, requeue }, access);
  memory.failed = { ...failed, until: now + waitMs, branches: memory.branches };
  const next = { requeue: isEnqueued ? ({ kind: "enqueued" } as const) : after(waitMs) };
  return isNews ? shown(object, { reason: failed.reason, message: failed.message }, next) : unchanged(object, next);
}

function isNameTaken(failure: Failure): boolean {
  return (
    failure.kind === "refused" && (failure.status === 409 || isTaken(failure.message)) && !/limit/i.test(failure.code)
  );
}

/** Since when the name is taken stays; the create is tried again ever later, at most hourly. */
function nameTaken(name: string, said: string, object: Branch, memory: BranchMemory, now: number): Outcome {
  const before = memory.nameTaken;
  const tries = before === undefined ? 0 : before.tries + 1;
  const triedAt = now + (tries === 0 ? 10_000 : requeueDelay("slow", tries - 1));
  memory.nameTaken = { since: before?.since ?? now, said: before?.said ?? said, triedAt, tries };
  const message = tries === 0 ? words.taken.looking(name) : words.taken.unlisted(name, memory.nameTaken.said);
  const reason = tries === 0 ? "Creating" : "BranchExists";
  return shown(object, { reason, message }, { requeue: after(tries === 0 ? 1000 : triedAt - now) });
}
