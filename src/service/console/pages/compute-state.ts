import { inactivityEnd, inactivitySeconds } from "../../computes/inactivity.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { type Html, html } from "../html.ts";
import { endIn, moment, suspensionInWords } from "../labels.ts";
import type { Visit } from "../visit.ts";

/** Reason for a compute's state, and what changes it. */
export function stateReason(visit: Visit, compute: StoredEndpoint): Html | undefined {
  const { currentState, pendingState, disabled, suspendDue, suspendTimeoutSeconds, maxCu } = compute;
  const { largestSuspending } = visit.context.options.rules;
  if (disabled) return html`It is disabled: it takes no connection until it is enabled.`;
  if (pendingState !== undefined || currentState === "init") return undefined;
  if (currentState === "idle") return whyIdle(visit, compute);
  if (maxCu > largestSuspending)
    return html`It stays active: a compute of more than ${largestSuspending} vCPU does not scale to zero.`;
  if (inactivitySeconds(visit.context, compute) === undefined) return html`It stays active: scale to zero is off.`;
  if (suspendDue === undefined)
    return html`It stays active while clients are: scale to zero suspends it ${suspensionInWords(suspendTimeoutSeconds)}.`;
  return html`Scale to zero suspends it ${endIn(suspendDue, visit.at)}, unless a client connects.`;
}

function whyIdle({ context, at }: Visit, compute: StoredEndpoint): Html {
  const { id, projectId, suspendedAt, lastActive, suspendTimeoutSeconds } = compute;
  const [last] = context.store.operations.ofEndpoint(projectId, id, 1);
  if (last?.status === "failed" || last?.status === "cancelled") {
    const reason = context.store.operations.reasonOf(last);
    return html`Its last operation failed${reason !== undefined && html`: ${reason}`}. A connection tries again.`;
  }
  if (suspendedAt === undefined) return html`It has not been started yet: a connection starts it.`;
  const end = inactivityEnd(context, compute);
  const scaled = end !== undefined && lastActive !== undefined && suspendedAt >= end;
  const why = scaled
    ? html`scale to zero suspended it ${suspensionInWords(suspendTimeoutSeconds)} without a client`
    : html`a person or a program suspended or moved it, or the service started again, and not scale to zero`;
  return html`Asleep since ${moment(suspendedAt, at)}: ${why}. A connection wakes it.`;
}
