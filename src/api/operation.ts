import { z } from "zod";
import { figure, loose, shortText } from "./loose.ts";
import { tolerant } from "./tolerant.ts";

/** Fields of an answer; the service itself promises more of them than a reader may count on. */
export const operationFields = {
  id: shortText,
  project_id: shortText.optional(),
  branch_id: shortText.optional(),
  endpoint_id: shortText.optional(),
  action: shortText,
  status: shortText,
  error: z.string().optional(),
  failures_count: figure.optional(),
  /** Time of the next attempt after a failed one. */
  retry_at: shortText.optional(),
  created_at: shortText.optional(),
  updated_at: shortText.optional(),
  total_duration_ms: z.number().optional(),
};

/**
 * An operation: work that a change of a compute sets off. Actions and statuses are open sets; an optional field that
 * cannot be read is left out.
 */
export const Operation = tolerant(operationFields);
export type Operation = z.infer<typeof Operation>;

/** `GET …/operations`; pages end when a cursor is missing or a page is empty. */
export const OperationsAnswer = tolerant({
  operations: z.array(Operation),
  pagination: loose({ cursor: z.string().optional() }).optional(),
});
export type OperationsAnswer = z.infer<typeof OperationsAnswer>;

/** `GET …/operations/{id}` */
export const OperationAnswer = loose({ operation: Operation });
export type OperationAnswer = z.infer<typeof OperationAnswer>;

/** The statuses known today. */
export const operationStatuses = [
  "scheduling",
  "running",
  "finished",
  "failed",
  "error",
  "cancelling",
  "cancelled",
  "skipped",
] as const;
export type OperationStatus = (typeof operationStatuses)[number];

/** The meaning of a status for a client that waits for the operation. */
export type OperationOutcome = "in-progress" | "done" | "failed";

/** A status that is not known yet counts as in progress: nothing is concluded from it. */
export function operationOutcome(status: string): OperationOutcome {
  switch (status) {
    case "finished":
    case "skipped":
      return "done";
    case "failed":
    case "error":
    case "cancelled":
      return "failed";
    default:
      return "in-progress";
  }
}

export function isInProgress({ status }: Pick<Operation, "status">): boolean {
  return operationOutcome(status) === "in-progress";
}
