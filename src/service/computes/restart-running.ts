import type { ServiceContext } from "../context.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import { interrupt, steps } from "./chain.ts";

/** Restarts those of the computes that run: what they serve, or how, has changed. */
export function restartRunning(
  context: ServiceContext,
  endpoints: readonly StoredEndpoint[],
  at: number,
): StoredOperation[] {
  return endpoints
    .filter(({ currentState }) => currentState === "active")
    .flatMap((endpoint) => interrupt(context, { endpoint, at, pendingState: "active" }, [steps.restart]));
}
