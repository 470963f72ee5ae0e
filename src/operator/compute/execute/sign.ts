import { guardedPatch } from "../../kube/json-patch.ts";
import { annotations, finalizers } from "../../resources/names.ts";
import type { PendingTakeover } from "../observe/annotations.ts";
import { mostLagMs } from "../observe/observation.ts";
import { after, type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { signedBefore } from "../remembered.ts";
import { creating } from "../status/messages/conditions.ts";
import { requests } from "../status/messages/failures.ts";
import { requeueDelay } from "../status/reasons.ts";
import { recordAnswer } from "./answered.ts";
import type { ExecuteContext, ServiceAccess } from "./context.ts";
import { recordFailedWrite } from "./deferred.ts";
import { noted } from "./patch-metadata.ts";

type Sign = Extract<Action, { kind: "sign" }>;

/** Writes our signature as the endpoint's name, in one PATCH of nothing else. */
export function signEndpoint(action: Sign, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  return action.over === undefined ? renew(action, context, access) : takeOver(action, context, access);
}

/**
 * Finalizer and mark, then PATCH: a deletion from then on finds what was signed, or knows that its list comes through
 * another key. The answer is not laid over lists, because only a list proves that nobody has signed the endpoint since.
 */
async function takeOver(action: Sign, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { endpointID, over, through } = action;
  const { state, clock, cluster } = context;
  const mark: PendingTakeover = { uid: context.compute.metadata.uid, endpointID, through };
  const patch = guardedPatch(context.compute, { resourceVersion: true })
    .addFinalizer(finalizers.endpoint)
    .setAnnotation(annotations.pendingTakeover, JSON.stringify(mark));
  const compute = await noted(cluster, patch, context.compute);
  const answer = await send(action, context, access);
  recordAnswer(answer, { endpointID }, context, access);
  if (answer.kind === "ok" || answer.kind === "ambiguous")
    state.signed({ endpointID, over, renewAt: clock.monotonic() + mostLagMs });
  if (answer.kind !== "ok") {
    return recordFailedWrite(action, answer, requests.sign(endpointID), compute, context, access);
  }
  state.succeeded();
  return shown(compute, "Updating", creating.takingOver(endpointID));
}

/** In the background: conditions stay as they are, whatever becomes of it. */
async function renew(action: Sign, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { endpointID, over } = action;
  const { compute, state, clock } = context;
  const answer = await send(action, context, access);
  const shows = answer.kind === "ok" ? answer.value.endpoint : undefined;
  recordAnswer(answer, { endpointID, shows }, context, access);
  // A service that accepts the name and does not keep it is not asked in a loop.
  const waitMs = requeueDelay(answer.kind === "ok" ? "slow" : "patient", signedBefore(state.known, endpointID));
  state.signed({ endpointID, over, renewAt: clock.monotonic() + waitMs });
  // An answer that is laid over lists enqueues the Compute.
  return unchanged(compute, answer.kind === "ok" ? {} : { requeue: after(waitMs) });
}

function send({ endpointID, name }: Sign, { compute, signal }: ExecuteContext, { client }: ServiceAccess) {
  return client.patchEndpoint(compute.spec.projectID, endpointID, { endpoint: { name } }, signal);
}
