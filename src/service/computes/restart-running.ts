import type { ServiceContext } from "../context.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import { schedule } from "./chain.ts";
import { meter } from "./meter.ts";

/** Restarts those of the computes that run: what they serve, or how, has changed. */
export function restartRunning(
  context: ServiceContext,
  endpoints: readonly StoredEndpoint[],
  at: number,
): StoredOperation[] {
  return endpoints
    .filter(({ currentState }) => currentState === "active")
    .flatMap((endpoint) => {
      meter(context, endpoint, at);
      if (context.backend.disconnect(endpoint)) endpoint.lastActive = at;
      endpoint.updatedAt = at;
      return schedule(context, { endpoint, at, pendingState: "active" }, [{ action: "apply_config", effect: "start" }]);
    });
}
