import { type Operation, operationOutcome } from "../../../api/operation.ts";
import { shownReason } from "../observe/plan-input.ts";
import { isProgress, type Progress } from "../status/reasons.ts";
import type { Rule } from "./rule.ts";

/** What we began goes on: nothing else is begun, and the service's own waking and suspending is none of it. */
export const operationInProgress: Rule = ({ compute }, { links, operations }) => {
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const ours = operations.find(({ status }) => operationOutcome(status) === "in-progress");
  const shown = shownReason(compute);
  const begun: Progress | undefined = isProgress(shown) ? shown : undefined;
  const changing = begun !== undefined && endpoint.pending_state !== undefined;
  const [newest] = operations;
  // One whose start failed may stay in this state for ever: that is for rule `settle` to tell.
  const comingUp = endpoint.current_state === "init" && (newest === undefined || !hasFailed(newest));
  if (ours === undefined && !changing && !comingUp) return undefined;
  const progress =
    begun ??
    (endpoint.current_state === "init" ? "Creating" : ours?.action === "start_compute" ? "Starting" : "Updating");
  return { kind: "wait", reason: progress, message: progressMessage(progress, endpoint.id) };
};

function hasFailed({ status }: Operation): boolean {
  return operationOutcome(status) === "failed";
}

export function progressMessage(progress: Progress, endpointID: string): string {
  switch (progress) {
    case "Creating":
      return `Endpoint ${endpointID} was created and is being started by the service.`;
    case "Starting":
      return `Endpoint ${endpointID} is being started by the service.`;
    case "Updating":
      return `A change of endpoint ${endpointID} was accepted and is being carried out by the service.`;
    case "Moving":
      return `Endpoint ${endpointID} is being moved to another branch by the service.`;
    case "Restarting":
      return `Endpoint ${endpointID} is being restarted by the service.`;
  }
}
