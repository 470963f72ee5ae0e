import { type Operation, operationOutcome } from "../../api/operation.ts";

/** The weight of the newest duration in the running estimate. */
const newest = 0.2;

/** Deviations above the mean at which an operation is expected to end: a write that comes too early costs a 423. */
const deviations = 2;

/** Durations of the service's operations, by action: a running estimate. In milliseconds. */
export class OperationTimes {
  readonly #byAction = new Map<string, { mean: number; deviation: number }>();

  /** `undefined`: no operation of this action has been seen to end. */
  expectedOf(action: string): number | undefined {
    const times = this.#byAction.get(action);
    return times && times.mean + deviations * times.deviation;
  }

  ended(operation: Operation): void {
    const took = durationOf(operation);
    if (took === undefined || operationOutcome(operation.status) !== "done") return;
    const before = this.#byAction.get(operation.action);
    const { mean, deviation } = before ?? { mean: took, deviation: 0 };
    this.#byAction.set(operation.action, {
      mean: mean + newest * (took - mean),
      deviation: deviation + newest * (Math.abs(took - mean) - deviation),
    });
  }
}

/** From its creation to its end: an operation may wait for the one before it. Whole seconds say too little. */
function durationOf({ created_at, updated_at, total_duration_ms }: Operation): number | undefined {
  const [from, to] = [Date.parse(created_at ?? ""), Date.parse(updated_at ?? "")];
  const between = to >= from ? to - from : undefined;
  if (between !== undefined && (from % 1000 !== 0 || to % 1000 !== 0)) return between;
  return total_duration_ms ?? between;
}
