import type { Endpoint } from "../../../api/endpoint.ts";
import type { EventInput } from "../../kube/event-record.ts";
import { branchIDOf } from "../../resources/compute.ts";
import type { Failure } from "../../service-client/answer.ts";
import { generationOf } from "../observe/observation.ts";
import { type Outcome, shown } from "../outcome.ts";
import type { PatchAction } from "../plan/action.ts";
import type { Attributes } from "../plan/fields.ts";
import { inProgress } from "../status/messages/conditions.ts";
import * as events from "../status/messages/events.ts";
import { requests } from "../status/messages/failures.ts";
import { recordAnswer } from "./answered.ts";
import type { ExecuteContext, ServiceAccess } from "./context.ts";
import { recordFailedWrite } from "./deferred.ts";
import { recordDisabling } from "./patch-metadata.ts";

export async function patchEndpoint(
  action: PatchAction,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<Outcome> {
  const { state, clock, signal } = context;
  const { client } = access;
  const { endpointID, attributes, fields } = action;
  const unanswered = context.compute.status.unansweredDisables ?? 0;
  const compute = await recordDisabling(attributes, context, Math.min(2, unanswered + 1));
  const { projectID } = compute.spec;
  const answer = await client.patchEndpoint(projectID, endpointID, { endpoint: attributes }, signal);
  const shows = answer.kind === "ok" ? answer.value.endpoint : undefined;
  recordAnswer(answer, { endpointID, shows }, context, access);
  if (answer.kind !== "ok") {
    const doing = fields.includes("branchID")
      ? requests.move(endpointID, branchIDOf(compute))
      : requests.change(endpointID);
    const disabling = attributes.disabled === true ? afterFailedDisable(answer, context) : {};
    return { ...recordFailedWrite(action, answer, doing, compute, context, access), disabling };
  }
  state.patched(action, compute, clock.monotonic());
  const { endpoint, operations } = answer.value;
  return shown(compute, action.progress, inProgress(action.progress, endpointID), {
    effect: { kind: "accepted", generation: generationOf(compute), endpoint, operations },
    disabling: disablingBy(attributes, endpoint, unanswered),
    events: [patchEvent(action)],
  });
}

/** Enabling counts once the endpoint is seen enabled, or at once if the service never shows that. */
function disablingBy(
  { disabled }: Attributes,
  endpoint: Endpoint | undefined,
  unanswered: number,
): Outcome["disabling"] {
  if (disabled === true) return { byUs: true, unanswered };
  const isNeverShown = endpoint !== undefined && endpoint.disabled === undefined;
  return disabled === false && isNeverShown ? { byUs: false } : {};
}

/** What is known of a PATCH that disables and was not accepted: it leaves what was noted before it. */
function afterFailedDisable({ kind }: Failure, { compute, state, clock }: ExecuteContext): Outcome["disabling"] {
  const { disabledByUs, unansweredDisables: unanswered = 0 } = compute.status;
  if (kind === "ambiguous") {
    state.disableUnanswered(clock.monotonic());
    return {};
  }
  return { byUs: disabledByUs === true, unanswered };
}

function patchEvent({ corrects, endpointID, fields, attributes }: PatchAction): EventInput {
  if (corrects.length > 0) {
    return { type: "Normal", reason: "DriftCorrected", message: events.driftCorrected(corrects) };
  }
  if (attributes.branch_id !== undefined) {
    return { type: "Normal", reason: "Moved", message: events.moved(endpointID, attributes.branch_id) };
  }
  return { type: "Normal", reason: "Patched", message: events.patched(endpointID, fields) };
}
