import type { ComputeUnitRange } from "../../api/compute-units.ts";
import type { Endpoint } from "../../api/endpoint.ts";
import { suspendAfterSeconds } from "../../api/scale-to-zero.ts";
import { type FieldTarget, fieldTargets, partsOf } from "../resources/compute-fields.ts";
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
  const shown = fieldTargets.map(([field, target]) => [field, valueOf(target, endpoint)] as const);
  return Object.fromEntries(shown.filter(([, value]) => value !== undefined));
}

/** The attributes of a field as the spec writes them; `undefined` where the service shows none. */
function valueOf(target: FieldTarget, endpoint: Endpoint): unknown {
  switch (target.unit) {
    case "suspension":
      return scaleToZero(endpoint.suspend_timeout_seconds);
    case "settings": {
      const settings = Object.entries(endpoint.settings?.pg_settings ?? {});
      return settings.length === 0 ? undefined : Object.fromEntries(settings.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }
    case "same": {
      if (typeof target.wire === "string") return endpoint[target.wire];
      const parts = partsOf(target).map(([part, wire]) => [part, endpoint[wire]] as const);
      const shown = parts.filter(([, value]) => value !== undefined);
      const isComplete = target.isWhole === true ? shown.length === parts.length : shown.length > 0;
      return isComplete ? Object.fromEntries(shown) : undefined;
    }
  }
}

/** The service's seconds (-1: never, 0: its default) as the spec writes them. */
function scaleToZero(seconds: number | undefined): { enabled: boolean; after?: string } | undefined {
  if (seconds === undefined) return undefined;
  const after = suspendAfterSeconds(seconds);
  return after === undefined ? { enabled: false } : { enabled: true, after: durationOf(after) };
}
