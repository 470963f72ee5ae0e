import type { Endpoint } from "../../../api/endpoint.ts";
import type { ComputeStatus } from "../../resources/compute-status.ts";
import { isBeingDeleted, isMarkDropped, shownReason } from "../observe/observation.ts";
import type { Outcome } from "../outcome.ts";
import { isProgress, type Progress, reasons, rowOf } from "./reasons.ts";
import type { Seen } from "./status.ts";

/** What `status.state` may say of an endpoint that is seen; the schema leaves it open. */
type StateSeen = Progress | "Active" | "Idle" | "Disabled" | "Deleting" | "Unknown";

/** The printable state of an endpoint that is seen. Suspending by the service itself shows as what it still is. */
export function stateSeen(endpoint: Endpoint, outcome: Outcome): StateSeen {
  if (isBeingDeleted(outcome.compute)) return "Deleting";
  const reason = reasonAfter(outcome);
  if (isProgress(reason)) return reason;
  if (endpoint.disabled === true) return "Disabled";
  if (endpoint.pending_state === "active" && endpoint.current_state !== "active") return "Starting";
  switch (endpoint.current_state ?? "") {
    case "active":
      return "Active";
    case "idle":
      return "Idle";
    case "init":
      return "Creating";
    default:
      return "Unknown";
  }
}

/** The printable state if no endpoint is seen: that of an endpoint that exists stays as last seen. */
export function stateUnseen(outcome: Outcome, seen: Seen): string {
  const { compute } = outcome;
  const isOurs = outcome.effect.kind !== "ownedByOther";
  const isLinked = isOurs && seen.annotations.recordedID !== undefined;
  if (isBeingDeleted(compute)) return "Deleting";
  if (isLinked && seen.branchGone === true && reasonAfter(outcome) === "BranchNotFound") return "NotCreated";
  // It stays lost also while the service cannot be asked, and a create is pending in its place.
  if (isLinked && (compute.status.state === "Lost" || (seen.absent && isLost(outcome, seen)))) return "Lost";
  const pending = isOurs ? statePending(outcome, seen) : undefined;
  if (pending !== undefined) return pending;
  if (isUnmade(outcome, seen)) return "NotCreated";
  const { state } = compute.status;
  return state === undefined || state === "NotCreated" ? "Unknown" : state;
}

/** What was sent, and may have made or signed an endpoint for the Compute; where its mark was dropped, as it was. */
function statePending(outcome: Outcome, { annotations }: Seen): string | undefined {
  const { recordedID, pendingCreate, pendingTakeover } = annotations;
  if (isMarkDropped(outcome.compute, annotations)) return outcome.compute.status.state;
  if (pendingCreate !== undefined) return "Creating";
  const isStalled = rowOf(reasonAfter(outcome))?.stalled === true;
  return pendingTakeover === undefined || recordedID !== undefined || isStalled ? undefined : "Updating";
}

/** Whether the Compute has no known endpoint. */
export function isUnmade({ effect }: Outcome, { annotations }: Pick<Seen, "annotations">): boolean {
  return effect.kind === "ownedByOther" || annotations.recordedID === undefined;
}

/** Whether the endpoint that the Compute had is proved gone, or doubted. */
function isLost(outcome: Outcome, { annotations }: Seen): boolean {
  const reason = reasonAfter(outcome);
  // An endpoint that `adopt` names by its id is not created again.
  const isNamed = reason === "AdoptionRefused" && annotations.recordedID !== undefined;
  return isNamed || reason === "EndpointLost" || reason === "MassLoss";
}

function reasonAfter({ compute, condition }: Outcome): string | undefined {
  return condition.kind === "shown" ? condition.reason : shownReason(compute);
}

/** What the status says, after a reconcile, of this operator having disabled the endpoint. */
export function disablingAfter(
  endpoint: Endpoint,
  outcome: Outcome,
  isCreatedByUs: boolean,
): Pick<ComputeStatus, "disabledByUs" | "unansweredDisables"> {
  // An endpoint that is seen disabled proves nothing of such a PATCH: somebody else may have disabled it.
  const unanswered = outcome.disabling.unanswered ?? outcome.compute.status.unansweredDisables ?? 0;
  return {
    disabledByUs: isDisabledByUs(endpoint, outcome, isCreatedByUs, unanswered) ? true : undefined,
    unansweredDisables: unanswered === 0 ? undefined : unanswered,
  };
}

/**
 * Whether this operator disabled the endpoint: recorded before the write is sent, so that a lost reply or a crash loses
 * nothing; over once the write is refused, or the endpoint is seen enabled, the spec does not ask for disabled, and no
 * unanswered write can disable it any more. A lost status is restored if this operator created the endpoint and the
 * spec asks for disabled, or it takes another's place; one that was found disabled is somebody else's decision.
 */
function isDisabledByUs(
  endpoint: Endpoint,
  { compute, condition, disabling }: Outcome,
  isCreatedByUs: boolean,
  unanswered: number,
): boolean {
  if (disabling.byUs !== undefined) return disabling.byUs;
  const { status, spec } = compute;
  if (status.disabledByUs !== true) {
    const isFirstSeen = status.endpointID !== endpoint.id;
    // A late create may take the place of another endpoint: it was sent for a spec from before.
    const isAsked = spec.disabled === true || status.endpointID !== undefined;
    return isFirstSeen && isCreatedByUs && isAsked && endpoint.disabled === true;
  }
  // While a change is under way, lists may lag behind it.
  const settled = condition.kind === "shown" && reasons[condition.reason].ready === "True";
  return !(settled && spec.disabled !== true && endpoint.disabled === false && unanswered === 0);
}
