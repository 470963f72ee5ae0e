import { isBeingDeleted } from "../observe/observation.ts";
import { after, type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { deleted, deleting, orRetain, released } from "../status/messages/deletion.ts";
import { requests } from "../status/messages/failures.ts";
import { recordAnswer } from "./answered.ts";
import type { ExecuteContext, ServiceAccess } from "./context.ts";
import { recordFailedWrite } from "./deferred.ts";
import { release } from "./patch-metadata.ts";

/** The CRD itself is being deleted: that removes the operator, and no endpoint. */
export function keepEndpoint(endpointID: string, context: ExecuteContext): Promise<Outcome> {
  return release({ event: "Released", message: released.uninstalling(endpointID) }, context);
}

export async function deleteEndpoint(
  action: Extract<Action, { kind: "delete" }>,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<Outcome> {
  const { compute, state, clock, signal, uninstalling } = context;
  const { client } = access;
  const { endpointID, why } = action;
  if (isBeingDeleted(compute) && (await uninstalling.now(compute))) return keepEndpoint(endpointID, context);
  const answer = await client.deleteEndpoint(compute.spec.projectID, endpointID, signal);
  recordAnswer(answer, { endpointID }, context, access);
  if (answer.kind !== "ok" && answer.kind !== "notFound")
    return recordFailedWrite(action, answer, requests.delete(endpointID), compute, context, access, orRetain);
  const isRepeated = state.deleteAnswered(endpointID, clock.monotonic());
  if (why === "duplicate") {
    const warning = { type: "Warning", reason: "Deleted", message: deleted.duplicate(endpointID) } as const;
    const isNews = answer.kind === "ok" && !isRepeated;
    return unchanged(compute, { requeue: after(500), events: isNews ? [warning] : [] });
  }
  // An answer of 404 may lag: then the endpoint is proved gone as any other.
  if (answer.kind === "ok") state.deleted(endpointID);
  const message = isRepeated ? deleting.stillListed(endpointID) : deleting.accepted(endpointID);
  return shown(compute, "Deleting", message);
}
