import type { Compute } from "../../resources/compute.ts";
import { pauseMessage } from "../../service-client/admission.ts";
import type { RequestReservation } from "../../service-client/request-reservation.ts";
import { shownReason } from "../observe/plan-input.ts";
import { type EventRecord, type Outcome, shown, unchanged } from "../outcome.ts";
import type { WriteAction } from "../plan/action.ts";
import { waiting as messages } from "../status/messages/conditions.ts";
import type { WriteAccess } from "./context.ts";
import { meaningOf } from "./failures.ts";
import type { Wait } from "./gate.ts";

const progressOf = { create: "Creating", patch: "Updating", restart: "Restarting", delete: "Deleting" } as const;

/** A wait for the budget or for the end of a pause that is longer, in milliseconds, is worth a word. */
const longWaitMs = 5000;

/**
 * A write that does not pass the gate. What it waits for is said once: while the status speaks of this write at all, it
 * stays, or Computes that wait for each other would take turns in writing theirs.
 */
export function waiting(
  wait: Wait,
  write: WriteAction,
  compute: Compute,
  reservation: WriteAccess["reservation"],
): Outcome {
  const closed = wait === "budget" ? paused(compute, reservation) : undefined;
  if (closed !== undefined) return closed;
  const progress = progressOf[write.kind];
  const isBrief = wait === "budget" && reservation.waitMs <= longWaitMs;
  if (isBrief || shownReason(compute) === progress) return { ...unchanged(compute), isWoken: true };
  const message = messageOf(wait, write, compute.spec.projectID);
  const notes: EventRecord[] = wait === "brake" ? [{ type: "Warning", reason: progress, message }] : [];
  return shown(compute, progress, message, { isWoken: true, notes });
}

/** The service asked for a pause that is worth a word. */
export function paused(
  compute: Compute,
  { closedForMs }: Pick<RequestReservation, "closedForMs">,
): Outcome | undefined {
  if (closedForMs <= longWaitMs) return undefined;
  const { reason, message } = meaningOf({ kind: "rateLimited", message: pauseMessage }, "");
  return shown(compute, reason, message, { isWoken: true });
}

function messageOf(wait: Wait, write: WriteAction, projectID: string): string {
  if (wait === "budget") return messages.forBudget;
  return write.kind === "delete" ? messages.toDelete(write.endpointID) : messages.forProject(projectID, write.kind);
}
