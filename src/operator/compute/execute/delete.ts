import { after } from "../../life/outcome.ts";
import { isBeingDeleted } from "../../objects/object.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import type { Failure } from "../../service-client/answer.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { deleted, deleting, orRetain, released } from "../words/deletion.ts";
import { requests } from "../words/failures.ts";
import { EndpointAttempt } from "./attempt.ts";
import type { ExecuteContext } from "./context.ts";
import { release } from "./patch-metadata.ts";
import { recordFailedWrite } from "./unsent.ts";

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
  const { endpointID, why, signature } = action;
  if (isBeingDeleted(compute) && (await uninstalling.now(compute))) return keepEndpoint(endpointID, context);
  if (signature !== undefined) {
    const isOurs = await stillBears(signature, compute.spec.projectID, endpointID, context, access);
    if (isOurs === false) return unchanged(compute, { requeue: after(500) });
    if (isOurs !== true)
      return recordFailedWrite(action, isOurs, requests.show(endpointID), compute, context, access, orRetain);
  }
  const attempt = new EndpointAttempt({ compute, endpointID, isRecorded: false }, context, access);
  const answer = await attempt.send(() => client.deleteEndpoint(compute.spec.projectID, endpointID, signal));
  if (answer.kind !== "ok" && answer.kind !== "notFound")
    return recordFailedWrite(action, answer, requests.delete(endpointID), compute, context, access, orRetain);
  // An answer of 404 may lag: then the endpoint is proved gone as any other.
  const isAccepted = why === "deleted" && answer.kind === "ok";
  const isRepeated = state.deleteAnswered(endpointID, isAccepted, clock.monotonic());
  if (why === "duplicate") {
    const warning = { type: "Warning", reason: "Deleted", message: deleted.duplicate(endpointID) } as const;
    const isNews = answer.kind === "ok" && !isRepeated;
    return unchanged(compute, { requeue: after(500), events: isNews ? [warning] : [] });
  }
  const message = isRepeated ? deleting.stillListed(endpointID) : deleting.accepted(endpointID);
  return shown(compute, "Deleting", message);
}

/**
 * True if an endpoint still bears our signature; if not, the next plan needs a newer list. Asked right before a DELETE,
 * because the service has no conditional one: another cluster of the fleet may have signed the endpoint since the list.
 */
export async function stillBears(
  signature: string,
  projectID: string,
  endpointID: string,
  { state, clock, signal }: Pick<ExecuteContext, "state" | "clock" | "signal">,
  { client }: Pick<ServiceAccess, "client">,
): Promise<boolean | Failure> {
  const answer = await client.getEndpoint(projectID, endpointID, signal);
  // The DELETE of an endpoint that is gone is answered with 404 and does no harm.
  if (answer.kind === "notFound") return true;
  if (answer.kind !== "ok") return answer;
  const { name = signature } = answer.value;
  if (name !== signature) state.needListAfter(clock.monotonic());
  return name === signature;
}
