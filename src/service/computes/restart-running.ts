import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import { interrupt, steps } from "./chain.ts";
import { meterRunning } from "./meter.ts";

/** The most computes that one call restarts: all of them are one turn of the loop. */
const mostRestarts = 100;

/** Restarts those of the computes that run: what they serve, or how, has changed. */
export function restartRunning(
  context: ServiceContext,
  endpoints: readonly StoredEndpoint[],
  at: number,
): StoredOperation[] {
  const running = endpoints.filter(({ currentState }) => currentState === "active");
  if (running.length > mostRestarts) {
    const most = `a call restarts at most ${mostRestarts} running computes`;
    throw refusals.limitExceeded("restarts", most, { remedy: "suspend others" });
  }
  meterRunning(context, running, at);
  return running.flatMap((endpoint) => interrupt(context, { endpoint, at, pendingState: "active" }, [steps.restart]));
}
