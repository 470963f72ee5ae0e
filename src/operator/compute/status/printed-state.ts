import type { Endpoint } from "../../../api/endpoint.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import { isBeingDeleted } from "../../objects/object.ts";
import type { Outcome } from "../outcome.ts";
import { isProgress, type Progress } from "../words/reasons.ts";
import type { Seen } from "./seen.ts";

/** Values of `status.state` for an endpoint that is seen; the schema leaves it open. */
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
  const reason = reasonAfter(outcome);
  if (isLinked && (reason === "Expired" || (seen.branchGone === true && reason === "BranchNotFound")))
    return "NotCreated";
  if (isOurs && seen.sent === "create") return "Creating";
  if (isOurs && seen.sent === "takeover") return "Updating";
  // The state stays `Lost` also while the service cannot be asked.
  const stays = compute.status.state === "Lost" && (isLinked || compute.status.gone !== undefined);
  if (isOurs && (stays || (isLinked && seen.absent && isLost(outcome, seen)))) return "Lost";
  if (isUnmade(outcome, seen)) return "NotCreated";
  const { state } = compute.status;
  return state === undefined || state === "NotCreated" ? "Unknown" : state;
}

/** True if the Compute has no known endpoint. */
export function isUnmade({ effect }: Outcome, { annotations }: Pick<Seen, "annotations">): boolean {
  return effect.kind === "ownedByOther" || annotations.recordedID === undefined;
}

/** True if the endpoint that the Compute had is proved gone, or doubted. */
function isLost(outcome: Outcome, { annotations }: Seen): boolean {
  const reason = reasonAfter(outcome);
  // An endpoint that `adopt` names by its id is not created again.
  const isNamed = reason === "AdoptionRefused" && annotations.recordedID !== undefined;
  return isNamed || reason === "EndpointLost" || reason === "MassLoss";
}

function reasonAfter({ compute, condition }: Outcome): string | undefined {
  return condition.kind === "shown" ? condition.reason : shownReason(compute);
}
