import type { OperatorSettings } from "../../../src/operator/operator.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";

/** Of an operator for all namespaces, on a driven clock and in one process with its service. */
export const inMemorySettings = {
  namespaces: [],
  selects: () => true,
  workers: 16,
  allowedBaseURLs: ["http://*.test/api/v2"],
  createSettleMs: 60_000,
  maxDeletesPerMinute: 60,
  budgetShare: 1,
  drainMs: 1000,
} satisfies Partial<OperatorSettings>;

/** The clock in whole milliseconds, as Date.now has them. */
export function wholeMilliseconds(clock: Pick<Clock, "now" | "after">): Pick<Clock, "now" | "after"> {
  return { now: () => Math.floor(clock.now()), after: (ms, task) => clock.after(ms, task) };
}
