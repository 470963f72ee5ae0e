import { after } from "../life/outcome.ts";
import type { WrittenBranch } from "../service-client/branch-calls.ts";
import type { BranchEnd, BranchWrite } from "./action.ts";
import type { ExecuteContext } from "./context.ts";
import { type Outcome, shown, unchanged } from "./outcome.ts";
import { isSameEnd } from "./plan/expiry.ts";
import { endAnswered, endNoted, keepEnd } from "./record.ts";
import * as words from "./words.ts";

/** The outcome of a write that the service accepted. */
export function accepted(
  planned: BranchWrite,
  { branch, operations }: WrittenBranch,
  { object, memory, fingerprint: observedThrough }: Pick<ExecuteContext, "object" | "memory"> & { fingerprint: string },
  now: number,
): Outcome {
  switch (planned.op) {
    case "create": {
      if (branch === undefined) return unchanged(object, { requeue: after(1000) });
      const { id } = branch;
      const { end } = planned;
      keepEnd(memory, end)((before) => endAnswered(endNoted(end, before), branch.expires_at, now));
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
            ...applied(planned.end, branch.expires_at),
          },
          answered: branch,
          isApplied: true,
          events: [{ type: "Normal", reason: "Created", message: words.creating.found(planned.name, id) }],
          requeue: after(500),
        },
      );
    }
    case "patch": {
      const { end } = planned;
      const news = end === undefined ? {} : applied(end, branch?.expires_at);
      return unchanged(object, { news, answered: branch, isApplied: true, requeue: after(1000) });
    }
    case "reset": {
      const message = words.resets.sent(planned.id);
      memory.resetOperations = operations.map(({ id }) => id);
      return shown(
        object,
        { reason: "Resetting", message },
        {
          answered: branch,
          events: [{ type: "Normal", reason: "Reset", message }],
          requeue: after(1000),
        },
      );
    }
    case "delete":
      memory.deleted = { id: planned.id, at: now };
      return shown(object, { reason: "Deleting", message: words.deleting.sent(planned.id) }, { requeue: after(1000) });
  }
}

/** The end counts as applied once the service shows it. */
function applied({ expiry, at }: BranchEnd, showsAt: string | undefined): Outcome["news"] {
  return isSameEnd(at, showsAt) ? { appliedExpiry: expiry, appliedEnd: at } : {};
}
