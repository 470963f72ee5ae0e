import { expect, it } from "vitest";
import { operationOutcome, operationStatuses } from "../../src/api/operation.ts";

it("every known status has an outcome", () => {
  const outcomes = operationStatuses.map((status) => `${status}: ${operationOutcome(status)}`);
  expect(outcomes).toEqual([
    "scheduling: in-progress",
    "running: in-progress",
    "finished: done",
    "failed: failed",
    "error: failed",
    "cancelling: in-progress",
    "cancelled: failed",
    "skipped: done",
  ]);
});
