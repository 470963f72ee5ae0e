import { type Operation, operationOutcome } from "../../../api/operation.ts";
import { shownReason } from "../observe/plan-input.ts";
import { inProgress } from "../status/messages/conditions.ts";
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
  return { kind: "wait", reason: progress, message: inProgress(progress, endpoint.id) };
};

function hasFailed({ status }: Operation): boolean {
  return operationOutcome(status) === "failed";
}
