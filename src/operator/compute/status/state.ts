import type { Endpoint } from "../../../api/endpoint.ts";
import type { ComputeState } from "../../resources/compute.ts";
import { recordedID } from "../observe/ownership.ts";
import { pendingCreateOf } from "../observe/pending-operations.ts";
import { shownReason } from "../observe/plan-input.ts";
import type { Outcome } from "../outcome.ts";
import { isProgress } from "./reasons.ts";

/** The printable state of an endpoint that is seen. Suspending by the service itself shows as what it still is. */
export function stateSeen(endpoint: Endpoint, outcome: Outcome): ComputeState {
  if (isDeleting(outcome)) return "Deleting";
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

/**
 * The printable state where no endpoint is seen: that of the endpoint that there is stays as last seen. `absent`: a
 * list says that there is none.
 */
export function stateUnseen(outcome: Outcome, absent: boolean): string {
  const { compute, ownedByOther } = outcome;
  if (isDeleting(outcome)) return "Deleting";
  if (absent && ownedByOther !== true && isLost(outcome)) return "Lost";
  // A create was sent, and may have made one.
  if (ownedByOther !== true && pendingCreateOf(compute) !== undefined) return "Creating";
  if (isUnmade(outcome)) return "NotCreated";
  const { state } = compute.status;
  return state === undefined || state === "NotCreated" ? "Unknown" : state;
}

/** Whether the Compute has no endpoint that anybody knows of. */
export function isUnmade({ compute, ownedByOther }: Outcome): boolean {
  return ownedByOther === true || recordedID(compute) === undefined;
}

/** Whether the endpoint that the Compute had is proved gone, or doubted. */
function isLost(outcome: Outcome): boolean {
  const { compute } = outcome;
  if (compute.status.state === "Lost") return true;
  const reason = reasonAfter(outcome);
  // One that `adopt` names by its id is not made again.
  const named = reason === "AdoptionRefused" && recordedID(compute) !== undefined;
  return named || reason === "EndpointLost" || reason === "MassLoss";
}

function isDeleting({ compute }: Outcome): boolean {
  return compute.metadata.deletionTimestamp !== undefined;
}

function reasonAfter({ compute, condition }: Outcome): string | undefined {
  return condition.kind === "shown" ? condition.reason : shownReason(compute);
}
