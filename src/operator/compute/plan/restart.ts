import { isOpen } from "../memory.ts";
import { settlesInMs } from "../record.ts";
import { adoptionRefused, inProgress } from "../words/conditions.ts";
import type { PlanRule } from "./action.ts";
import { awaitClosing } from "./pending.ts";
import { awaitsTurn } from "./turn.ts";

/**
 * Any new value of the annotation `restartedAt` asks for one restart. One without a reply counts as carried out if the
 * endpoint started since; else, once nothing of it can take effect any more, it is sent again.
 */
export const restartNow: PlanRule = (o, s) => {
  const { compute, annotations, links } = o;
  if (links.link === undefined) return undefined;
  const { endpoint, proof } = links.link;
  const { id: endpointID, started_at: startedAt } = endpoint;
  const { restartedAt: value, restartRequested } = annotations;
  const isKnown = (compute.status.observedGeneration ?? -1) >= 0;
  if (value === undefined || !restartRequested || !isKnown) return undefined;
  if (s.handled.restartedAt === value) return { kind: "restarted", endpointID, value };
  if (isOpen(s.write)) return awaitClosing(o, s);
  const { write } = s;
  if (write?.phase === "open" && write.record.endpointID === endpointID) {
    const hasStarted = startedAt !== undefined && startedAt !== write.record.startedAt;
    if (hasStarted && write.record.value === value) return { kind: "restarted", endpointID, value };
    const requeueAfterMs = settlesInMs(o, write);
    const message = inProgress("Restarting", endpointID);
    if (requeueAfterMs > 0) return { kind: "wait", reason: "Restarting", message, requeueAfterMs };
  }
  // A restart would cut connections to what may be another's: a link without proof is enough for a PATCH alone.
  if (proof === "none") {
    return { kind: "blocked", reason: "AdoptionRefused", message: adoptionRefused.restartUnproved(endpointID) };
  }
  return { kind: "restart", endpointID, value, startedAt };
};

/** A restart of a pool's member waits for its turn; other changes do not wait for it. */
export const restart: PlanRule = (o, s) => {
  const action = restartNow(o, s);
  return action?.kind === "restart" && awaitsTurn(o, s) ? undefined : action;
};
