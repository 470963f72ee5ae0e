import { after } from "../../life/outcome.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { hourlyMs, seldomMs } from "../../runtime/waits.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { creating } from "../words/conditions.ts";
import { requests } from "../words/failures.ts";
import { EndpointAttempt, shownBy } from "./attempt.ts";
import type { ExecuteContext } from "./context.ts";
import { recordFailedWrite } from "./unsent.ts";
import { outdated, writeRecord } from "./write-record.ts";

type Sign = Extract<Action, { kind: "sign" }>;

/** Writes our signature as the endpoint's name, in one PATCH of nothing else. */
export function signEndpoint(action: Sign, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  return action.takesOver ? takeOver(action, context, access) : renew(action, context, access);
}

/**
 * Record, finalizer, PATCH: a deletion from then on waits for what may be signed. The answer is not laid over lists,
 * because only a list proves that nobody has signed the endpoint since.
 */
async function takeOver(action: Sign, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { endpointID } = action;
  const { state } = context;
  const branchID = branchIDOf(context.compute);
  const attempt = await writeRecord({ operation: "takeover", branchID, endpointID, holds: true }, context, access);
  if (attempt === undefined) return outdated(action, context);
  const { compute } = attempt;
  const answer = await attempt.send(
    () => send(action, context, access),
    () => ({ made: endpointID }),
  );
  if (answer.kind !== "ok") {
    return recordFailedWrite(action, answer, requests.sign(endpointID), compute, context, access);
  }
  state.succeeded();
  return shown(compute, "Updating", creating.takingOver(endpointID));
}

/** In the background: conditions stay as they are, whatever becomes of it. */
async function renew(action: Sign, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { endpointID } = action;
  const { compute, state, clock } = context;
  const attempt = new EndpointAttempt({ compute, endpointID, isRecorded: false }, context, access);
  const answer = await attempt.send(() => send(action, context, access), shownBy);
  // A service that accepts the name and does not keep it is not asked in a loop; a refusal may wait too, since nothing
  // depends on the signature.
  const waitMs = answer.kind === "ok" ? hourlyMs : seldomMs;
  const failed = answer.kind === "ok" ? {} : { failure: answer };
  state.signed({ endpointID, renewAt: clock.monotonic() + waitMs, ...failed });
  // An answer that is laid over lists enqueues the Compute.
  return unchanged(compute, answer.kind === "ok" ? {} : { requeue: after(waitMs) });
}

function send({ endpointID, name }: Sign, { compute, signal }: ExecuteContext, { client }: ServiceAccess) {
  return client.patchEndpoint(compute.spec.projectID, endpointID, { endpoint: { name } }, signal);
}
