import { after } from "../life/outcome.ts";
import type { WrittenBranch } from "../service-client/branch-calls.ts";
import type { BranchWrite } from "./action.ts";
import type { ExecuteContext } from "./context.ts";
import { type Outcome, shown, unchanged } from "./outcome.ts";
import { isSameEnd } from "./plan/expiry.ts";
import type { BranchMemory } from "./state.ts";
import * as words from "./words.ts";

/** The outcome of a write that the service accepted. */
export function accepted(
  planned: BranchWrite,
  { branch }: WrittenBranch,
  { object, memory, through: observedThrough }: Pick<ExecuteContext, "object" | "memory"> & { through: string },
  now: number,
): Outcome {
  switch (planned.op) {
    case "create": {
      memory.nameTaken = undefined;
      memory.answeredPost = now;
      if (branch === undefined) return unchanged(object, { requeue: after(1000) });
      const { id } = branch;
      const proof = { uid: object.metadata.uid, branchID: id, by: "created" };
      return shown(
        object,
        { reason: "Creating", message: words.creating.sent(planned.name) },
        {
          news: {
            branchID: id,
            proof,
            observedThrough,
            gone: undefined,
            ...ended(planned.end, branch.expires_at, memory, now),
          },
          answered: branch,
          isApplied: true,
          events: [{ type: "Normal", reason: "Created", message: `${words.creating.found(planned.name)} ${id}` }],
          requeue: after(500),
        },
      );
    }
    case "patch": {
      const { end } = planned;
      const news = end === undefined ? {} : ended(end, branch?.expires_at, memory, now);
      return unchanged(object, { news, answered: branch, isApplied: true, requeue: after(1000) });
    }
    case "reset": {
      const { id, value } = planned;
      memory.reset = { value, fate: "answered", at: now };
      return shown(
        object,
        { reason: "Resetting", message: words.resets.sent(id) },
        {
          news: { resetAt: value, pendingWrite: undefined, appliedExpiry: undefined },
          answered: branch,
          events: [{ type: "Normal", reason: "Reset", message: words.resets.done(id) }],
          requeue: after(1000),
        },
      );
    }
    case "delete":
      memory.deleted = { id: planned.id, at: now };
      return shown(object, { reason: "Deleting", message: words.deleting.sent(planned.id) }, { requeue: after(1000) });
  }
}

/** The end counts as applied once the service shows it: one that ignores it is found out by lists. */
function ended(
  { expiry, at }: { expiry: string; at: string | undefined },
  showsAt: string | undefined,
  memory: BranchMemory,
  now: number,
): Outcome["news"] {
  memory.unansweredEnds = memory.unansweredEnds.filter((one) => one.expiry !== expiry);
  if (isSameEnd(at, showsAt)) {
    memory.unseenEnd = undefined;
    return { appliedExpiry: expiry, appliedEnd: at };
  }
  const before = memory.unseenEnd?.expiry === expiry ? memory.unseenEnd : undefined;
  const resent = before === undefined ? 0 : before.resent + 1;
  memory.unseenEnd = { expiry, at, sentAt: now, resent, differsSince: undefined };
  return {};
}
