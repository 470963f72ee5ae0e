import type { EventInput } from "../../kube/event-record.ts";
import { atOnce } from "../../life/outcome.ts";
import { generationOf } from "../../objects/object.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import type { PatchAction } from "../plan/action.ts";
import { inProgress, insteadOfMove } from "../words/conditions.ts";
import * as events from "../words/events.ts";
import { requests } from "../words/failures.ts";
import { EndpointAttempt, shownBy } from "./attempt.ts";
import type { ExecuteContext } from "./context.ts";
import { noteDisabling } from "./patch-metadata.ts";
import { recordFailedWrite } from "./unsent.ts";
import { outdated, writeRecord } from "./write-record.ts";

export async function patchEndpoint(
  action: PatchAction,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<Outcome> {
  const { state, clock, signal } = context;
  const { client } = access;
  const { endpointID, attributes, from } = action;
  const attempt =
    from === undefined
      ? new EndpointAttempt(
          { compute: await noteDisabling(attributes, context), endpointID, isRecorded: false },
          context,
          access,
        )
      : await recordMove(action, from, context, access);
  if (attempt === undefined) return outdated(action, context);
  if (context.isStillAllowed?.() === false) return unchanged(attempt.compute, { requeue: atOnce });
  const { compute } = attempt;
  const answer = await attempt.send(
    () => client.patchEndpoint(compute.spec.projectID, endpointID, { endpoint: attributes }, signal),
    (answered) => ({ ...shownBy(answered), made: endpointID }),
  );
  const now = clock.monotonic();
  if (attributes.disabled !== undefined) state.disableSent(now);
  if (answer.kind !== "ok") {
    const doing = from === undefined ? requests.change(endpointID) : requests.move(endpointID, branchIDOf(compute));
    const wayOut = from === undefined ? undefined : insteadOfMove(branchIDOf(compute));
    return recordFailedWrite(action, answer, doing, compute, context, access, wayOut);
  }
  state.patched(action, compute, now);
  const { endpoint, operations } = answer.value;
  return shown(compute, action.progress, inProgress(action.progress, endpointID), {
    effect: {
      kind: "accepted",
      generation: generationOf(compute),
      entry: action.entry ?? "",
      endpoint,
      operations,
      drift: action.drift,
      waiting: action.waiting ?? [],
    },
    events: [patchEvent(action)],
  });
}

/** A move is recorded with both branches: a list that shows the new one is then known to be our own doing. */
function recordMove(
  { endpointID, attributes: { branch_id: to = "", disabled } }: PatchAction,
  branchID: string,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<EndpointAttempt | undefined> {
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
