import type { ComputeUnitRange } from "../../api/compute-units.ts";
import type { Endpoint } from "../../api/endpoint.ts";
import { suspendAfterSeconds } from "../../api/scale-to-zero.ts";
import { durationOf } from "../resources/duration.ts";

/** The size of an endpoint, if the service shows both ends. */
export function rangeOf({
  autoscaling_limit_min_cu: min,
  autoscaling_limit_max_cu: max,
}: Endpoint): ComputeUnitRange | undefined {
  return min === undefined || max === undefined ? undefined : { min, max };
}

/** The spec fields that declare an endpoint as the service shows it, in the order of the documentation. */
export function declaredBy(endpoint: Endpoint): Record<string, unknown> {
  const { suspend_timeout_seconds: suspend, pooler_enabled: enabled, pooler_mode: mode } = endpoint;
  const { disabled, passwordless_access: passwordlessAccess } = endpoint;
  const settings = endpoint.settings?.pg_settings ?? {};
  const sorted = Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const pooler = { ...(enabled === undefined ? {} : { enabled }), ...(mode === undefined ? {} : { mode }) };
  const fields = {
    computeUnits: rangeOf(endpoint),
    scaleToZero: suspend === undefined ? undefined : scaleToZero(suspend),
    pooler: Object.keys(pooler).length === 0 ? undefined : pooler,
    disabled,
    passwordlessAccess,
    postgresSettings: sorted.length === 0 ? undefined : Object.fromEntries(sorted),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The service's seconds (-1: never, 0: its default) as the spec writes them. */
function scaleToZero(seconds: number): { enabled: boolean; after?: string } {
  const after = suspendAfterSeconds(seconds);
  return after === undefined ? { enabled: false } : { enabled: true, after: durationOf(after) };
}
