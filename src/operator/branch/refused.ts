import { isAboutBranch, isTaken } from "../../api/error.ts";
import { requeueDelay } from "../conditions/rows.ts";
import { earlierFailure, failedNow } from "../life/failed-write.ts";
import { after, atOnce } from "../life/outcome.ts";
import { generationOf } from "../objects/object.ts";
import type { ServiceAccess } from "../project/service-access.ts";
import { shortlyMs } from "../runtime/waits.ts";
import type { Failure } from "../service-client/answer.ts";
import { type BranchWrite, identityOf } from "./action.ts";
import type { ExecuteContext } from "./context.ts";
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
  const write = identityOf(planned, generationOf(object));
  if (planned.op === "create" && isNameTaken(failure)) {
    return nameTaken(planned.name, failure.message, write, context, access.client);
  }
  const what = planned.op === "create" ? words.doing.create(planned.name) : words.doing[planned.op](planned.id);
  const meaning: { reason: BranchReason; message: string } =
    planned.op === "create" && failure.kind === "ambiguous"
      ? { reason: "CreateUnknown", message: words.creating.unknown }
      : words.meaningOf(failure, what);
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

/** The branches are listed again for ten seconds; then the create is tried again ever later, at most hourly. */
function nameTaken(
  name: string,
  said: string,
  write: string,
  { object, memory, clock }: Pick<ExecuteContext, "object" | "memory" | "clock">,
  client: Pick<ServiceAccess["client"], "fingerprint">,
): Outcome {
  const earlier = earlierFailure(memory.failed, write, client);
  const before = earlier?.reason === "BranchExists" ? earlier : undefined;
  const failures = before === undefined ? 0 : before.failures + 1;
  const waitMs = failures === 0 ? shortlyMs : requeueDelay("slow", failures - 1);
  const message = before?.message ?? words.taken.unlisted(name, said);
  const { fingerprint } = client;
  const until = clock.monotonic() + waitMs;
  memory.failed = { write, fingerprint, reason: "BranchExists", message, failures, until, branches: memory.branches };
  return failures === 0
    ? shown(object, { reason: "Creating", message: words.taken.looking(name) }, { requeue: after(1000) })
    : shown(object, { reason: "BranchExists", message }, { requeue: after(waitMs) });
}
