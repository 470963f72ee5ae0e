import { dueRotation } from "../../connection-secret/rotation.ts";
import { after, atOnce } from "../../life/outcome.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import { soonMs } from "../../runtime/waits.ts";
import type { Failure } from "../../service-client/answer.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { inProgress } from "../words/conditions.ts";
import { requests, roleMissing } from "../words/failures.ts";
import { EndpointAttempt } from "./attempt.ts";
import type { ExecuteContext } from "./context.ts";
import { recordFailedWrite } from "./unsent.ts";

type Rotate = Extract<Action, { kind: "rotate" }>;

/**
 * Reads the Secret, then resets the password of a role if that is still due. The Secret is written once the operations
 * of the reset have ended: until then the old password holds.
 */
export async function resetPassword(action: Rotate, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { compute, annotations, state, signal, secrets } = context;
  const { endpointID, branchID, role, request, now } = action;
  const wanted = compute.spec.connectionSecret;
  const record = await secrets.recordedNow(compute);
  const due = wanted && record && dueRotation(wanted, record, annotations.passwordRotationAt, now, state.known.rotated);
  // The cache is older than the Secret.
  if (
    wanted === undefined ||
    record === undefined ||
    due === undefined ||
    due.role !== role ||
    due.request !== request
  ) {
    return unchanged(compute, { requeue: after(soonMs) });
  }
  const { client } = access;
  const before = state.known.password;
  // The next process has to know of a reset whose password nothing else shows.
  const isNoted = wanted.roles === undefined && before?.state === "unstored";
  if (isNoted && record.isSent !== true) await secrets.noteReset(compute, now);
  if (context.isStillAllowed?.() === false) {
    if (isNoted) await secrets.noteReset(compute, undefined);
    return unchanged(compute, { requeue: atOnce });
  }
  state.passwordDoubted();
  // A late effect of this request, or of one that an earlier term sent, shows when the password is read again.
  secrets.readSoon(compute.metadata.uid);
  const attempt = new EndpointAttempt({ compute, endpointID, isRecorded: false }, context, access);
  const answer = await attempt.send(() =>
    client.branches.resetPassword([compute.spec.projectID, branchID, role], signal),
  );
  if (answer.kind !== "ok") {
    if (answer.kind === "ambiguous") state.passwordDoubted(true);
    else state.passwordKept(before);
    if (answer.kind !== "ambiguous" && isNoted) await secrets.noteReset(compute, undefined);
    const doing = requests.resetPassword(role, branchID);
    return recordFailedWrite(action, withoutRole(answer), doing, compute, context, access, roleMissing);
  }
  state.succeeded();
  const { operations, password } = answer.value;
  state.passwordReset({ role, request, branchID, password, operations: operations.map(({ id }) => id) });
  return shown(compute, "Updating", inProgress("Updating", endpointID), { effect: { kind: "reset", operations } });
}

/** A 404 that names the role is a refusal: the project is there. */
function withoutRole(failure: Failure): Failure {
  if (failure.kind !== "notFound" || !/role/i.test(failure.message)) return failure;
  return { kind: "refused", status: 404, code: "", message: failure.message };
}
