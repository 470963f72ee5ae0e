import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { ComputesOf } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import { interrupt, steps } from "./chain.ts";
import { meterRunning } from "./meter.ts";

/** The most computes that one call restarts: all of them are one turn of the loop. */
const mostRestarts = 100;

/** Restarts the computes of a project or a branch that run: what they serve, or how, has changed. */
export function restartRunning(context: ServiceContext, of: ComputesOf, at: number): StoredOperation[] {
  const running = context.store.endpoints.activeOf(of, mostRestarts + 1);
  if (running.length > mostRestarts) {
    const most = `a call restarts at most ${mostRestarts} running computes`;
    throw refusals.limitExceeded("restarts", most, { remedy: "suspend others" });
  }
  meterRunning(context, running, at);
  return running.flatMap((endpoint) => interrupt(context, { endpoint, at, pendingState: "active" }, [steps.restart]));
}
