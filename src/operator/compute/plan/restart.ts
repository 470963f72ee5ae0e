import type { Endpoint } from "../../../api/endpoint.ts";
import type { Operation } from "../../../api/operation.ts";
import type { PendingRestart } from "../observe/annotations.ts";
import type { PlanRule } from "./action.ts";

/** Any new value of the annotation `restartedAt` asks for one restart; a mark stands while its outcome is not known. */
export const restart: PlanRule = ({ compute, annotations, links, lookedUp = [] }, s) => {
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const { restartedAt: asked, pendingRestart: mark } = annotations;
  const known = (compute.status.observedGeneration ?? -1) >= 0;
  if (asked === undefined || asked === compute.status.restartedAt || !known) {
    return mark === undefined ? undefined : { kind: "clearPending", mark: "pendingRestart" };
  }
  if (s.restarted === asked || (mark?.value === asked && wasRestarted(mark, endpoint, lookedUp))) {
    return { kind: "restarted", endpointID: endpoint.id, value: asked };
  }
  return { kind: "restart", endpointID: endpoint.id, value: asked };
};

/** Whether a marked restart shows: a suspend and a start created since, or the compute started again since. */
export function wasRestarted(
  mark: PendingRestart,
  endpoint: Pick<Endpoint, "started_at">,
  operations: readonly Operation[],
): boolean {
  if (hasStartedSince(mark, endpoint)) return true;
  const { newestOperation } = mark;
  // What was there before is not known: any of these may be older than the mark.
  if (newestOperation === undefined) return false;
  const newer = operations.filter(({ created_at }) => (created_at ?? "") > newestOperation);
  const has = (action: string) => newer.some((operation) => operation.action === action);
  return has("suspend_compute") && has("start_compute");
}

/**
 * Another start may have been under way at the mark, or over and not yet listed: only what came after all that counts.
 */
function hasStartedSince(
  { startedAt, restedSince }: PendingRestart,
  { started_at }: Pick<Endpoint, "started_at">,
): boolean {
  if (started_at === undefined || started_at === startedAt || restedSince === undefined) return false;
  return restedSince === "" || Date.parse(started_at) > Date.parse(restedSince);
}
