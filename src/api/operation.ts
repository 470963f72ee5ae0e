import { z } from "zod";
import { loose } from "./loose.ts";

/** What the answers are made of; the service itself promises more of it than a reader may count on. */
export const operationFields = {
  id: z.string(),
  project_id: z.string().optional(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  action: z.string(),
  status: z.string(),
  error: z.string().optional(),
  failures_count: z.number().optional(),
  /** When a failed attempt is tried again. */
  retry_at: z.string().optional(),
  created_at: z.string().optional(),
  updated_at: z.string().optional(),
  total_duration_ms: z.number().optional(),
};

/** An operation: work that a change of a compute sets off. Actions and statuses are open sets. */
export const Operation = loose(operationFields);
export type Operation = z.infer<typeof Operation>;

/** `GET …/operations`; pages end when a cursor is missing or a page is empty. */
export const OperationsAnswer = loose({
  operations: z.array(Operation),
  pagination: z.looseObject({ cursor: z.string().optional() }).optional(),
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

/** What a status means for whoever waits for the operation. */
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
