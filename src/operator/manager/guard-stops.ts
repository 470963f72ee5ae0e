import { guardRules, type Stop } from "../life/guard.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { KubeObject } from "../objects/object.ts";
import type { Logger } from "../runtime/log.ts";

/** Shows every rule of the last guard from 0 on, so that its first stop counts as an increase. */
export function countFromZero({ guardStops }: Pick<Metrics, "guardStops">): void {
  for (const rule of guardRules) guardStops.add({ rule }, 0);
}

/** Counts and logs what the last guard stops of one kind: a defect of the operator. */
export function stopsTold(
  { log, metrics }: { log: Pick<Logger, "error">; metrics: Pick<Metrics, "guardStops"> },
  kind: string,
): (stop: Stop, object: KubeObject) => void {
  return ({ rule, message }, { metadata: { namespace, name } }) => {
    metrics.guardStops.add({ rule });
    log.error({ kind, namespace, name, rule }, message);
  };
}
