import type { EventInput } from "../../kube/event-record.ts";
import { generationOf } from "../../objects/object.ts";
import type { ServiceAccess } from "../../project/access.ts";
import { branchIDOf, type Compute } from "../../resources/compute.ts";
import { type Outcome, shown } from "../outcome.ts";
import type { PatchAction } from "../plan/action.ts";
import { inProgress, insteadOfMove } from "../words/conditions.ts";
import * as events from "../words/events.ts";
import { requests } from "../words/failures.ts";
import { recordAnswer } from "./answered.ts";
import type { ExecuteContext } from "./context.ts";
import { recordFailedWrite } from "./deferred.ts";
import { noteDisabling } from "./patch-metadata.ts";
import { outdated, writeRecord } from "./write-record.ts";

export async function patchEndpoint(
  action: PatchAction,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<Outcome> {
  const { state, clock, signal } = context;
  const { client } = access;
  const { endpointID, attributes, from } = action;
  const compute =
    from === undefined ? await noteDisabling(attributes, context) : await recordMove(action, from, context, access);
  if (compute === undefined) return outdated(action, context);
  const { projectID } = compute.spec;
  if (from !== undefined) state.sending(clock.monotonic());
  const answer = await client.patchEndpoint(projectID, endpointID, { endpoint: attributes }, signal);
  const shows = answer.kind === "ok" ? answer.value.endpoint : undefined;
  const now = clock.monotonic();
  if (from !== undefined) state.answered({ kind: answer.kind, endpointID }, now);
  if (attributes.disabled !== undefined) state.disableSent(now);
  recordAnswer(answer, { endpointID, shows }, context, access);
  if (answer.kind !== "ok") {
    const doing = from === undefined ? requests.change(endpointID) : requests.move(endpointID, branchIDOf(compute));
    const wayOut = from === undefined ? undefined : insteadOfMove(branchIDOf(compute));
    return recordFailedWrite(action, answer, doing, compute, context, access, wayOut);
  }
  state.patched(action, compute, now);
  const { endpoint, operations } = answer.value;
  return shown(compute, action.progress, inProgress(action.progress, endpointID), {
    effect: { kind: "accepted", generation: generationOf(compute), endpoint, operations, drift: action.drift },
    events: [patchEvent(action)],
  });
}

/** A move is recorded with both branches: a list that shows the new one is then known to be our own doing. */
function recordMove(
  { endpointID, attributes: { branch_id: to = "", disabled } }: PatchAction,
  branchID: string,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<Compute | undefined> {
  return writeRecord({ operation: "move", branchID, to, endpointID, disables: disabled === true }, context, access);
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
