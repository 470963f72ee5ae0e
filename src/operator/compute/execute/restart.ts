import type { Endpoint } from "../../../api/endpoint.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import { branchIDOf } from "../../resources/compute.ts";
import type { Failure } from "../../service-client/answer.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { inProgress, restartDone } from "../words/conditions.ts";
import * as events from "../words/events.ts";
import { requests } from "../words/failures.ts";
import type { ExecuteContext } from "./context.ts";
import { recordFailedWrite } from "./unsent.ts";
import { outdated, writeRecord } from "./write-record.ts";

type Restart = Extract<Action, { kind: "restart" }>;

/** Record, then POST: `started_at` in the record shows later whether a restart without a reply was carried out. */
export async function restartEndpoint(
  action: Restart,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<Outcome> {
  const { state, signal } = context;
  const { lister, client } = access;
  const { endpointID, value, startedAt } = action;
  const seen = lister.listing?.endpoints.find(({ id }) => id === endpointID);
  const branchID = branchIDOf(context.compute);
  const before = startedAt === undefined ? {} : { startedAt };
  const attempt = await writeRecord({ operation: "restart", branchID, endpointID, value, ...before }, context, access);
  if (attempt === undefined) return outdated(action, context);
  const recorded = attempt.compute;
  const answer = await attempt.send(() => client.restartEndpoint(recorded.spec.projectID, endpointID, signal));
  if (answer.kind === "ok") {
    state.succeeded();
    state.restarted(value);
    const { operations } = answer.value;
    return shown(recorded, "Restarting", inProgress("Restarting", endpointID), {
      effect: { kind: "restarted", value, operations },
      events: [{ type: "Normal", reason: "Restarted", message: events.restarted(endpointID) }],
    });
  }
  const doing = requests.restart(endpointID);
  if (answer.kind === "ambiguous") return recordFailedWrite(action, answer, doing, recorded, context, access);
  const resting = answer.kind === "refused" ? await doesRest(endpointID, seen, context, access) : false;
  // A compute that does not run counts as restarted: its next start is a fresh one.
  if (resting === true) {
    state.restarted(value);
    return unchanged(recorded, { effect: { kind: "restarted", value, operations: [] } });
  }
  // If it could not be asked just now, it is asked soon, and not only when a refused write is repeated.
  return recordFailedWrite(action, resting === false ? answer : resting, doing, recorded, context, access);
}

/** A recorded restart that shows at the service is done. */
export function restarted(
  { endpointID, value }: Pick<Restart, "endpointID" | "value">,
  { compute, state }: ExecuteContext,
): Outcome {
  // An event has said so already where only the status could not be written.
  const isNews = state.known.handled.restartedAt !== value;
  state.restarted(value);
  return shown(compute, "Restarting", restartDone(endpointID), {
    effect: { kind: "restarted", value, operations: [] },
    events: isNews ? [{ type: "Normal", reason: "Restarted", message: events.restarted(endpointID) }] : [],
  });
}

/** True if a compute does not run: asked now, for it may have woken since the list. Some services show lists alone. */
async function doesRest(
  endpointID: string,
  listed: Endpoint | undefined,
  { compute: { spec }, signal }: ExecuteContext,
  { client }: ServiceAccess,
): Promise<boolean | Failure> {
  const answer = await client.getEndpoint(spec.projectID, endpointID, signal);
  if (answer.kind !== "ok" && answer.kind !== "notFound") return answer;
  const endpoint = answer.kind === "ok" ? answer.value : listed;
  if (endpoint === undefined) return false;
  return endpoint.disabled === true || (endpoint.current_state === "idle" && endpoint.pending_state !== "active");
}
