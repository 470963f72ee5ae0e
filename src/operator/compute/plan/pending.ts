import type { Endpoint } from "../../../api/endpoint.ts";
import { isBeingDeleted } from "../../objects/object.ts";
import { signatureOf } from "../../resources/signature.ts";
import { soonMs } from "../../runtime/waits.ts";
import { chosenAmong } from "../candidates.ts";
import type { ReadonlyState } from "../memory.ts";
import { isOpen } from "../memory.ts";
import { hasFinalizer, type Observation } from "../observe/observation.ts";
import { closesAt, type Opening, openingOf } from "../record.ts";
import { creating, unknown as messages, moving } from "../words/conditions.ts";
import { type Action, leftUntil, noop, type PlanRule } from "./action.ts";

/**
 * A create or a takeover that is open: nothing else is created, taken over, adopted or moved before it is settled. What
 * it made is linked as soon as it is listed; changes wait until the record closes.
 */
export const pendingWrite: PlanRule = (o, s) => {
  const opening = openingOf(o, s.write);
  const { write } = s;
  if (opening === undefined || write === undefined) return undefined;
  if (isOwnListed(o, s)) return undefined;
  const chosen = chosenIn(opening, o);
  if (chosen !== undefined) return chosen;
  if (!hasFinalizer(o.compute)) return { kind: "restoreFinalizer" };
  return waitFor(opening, o, s);
};

/** A person who adopts a candidate decides what the create made. */
export function chosenIn(opening: Opening, { compute }: Observation): Action | undefined {
  const chosen = opening.kind === "nameless" ? chosenAmong(opening.candidates, compute) : undefined;
  return chosen && { kind: "link", endpointID: chosen.id, proof: "adopted", news: "adopted" };
}

/** Wait for an open record: the condition says why, and until when. */
export function waitFor(opening: Opening, o: Observation, { write }: ReadonlyState): Action {
  const { compute, createSettleMs, fleet } = o;
  const signature = signatureOf(compute, fleet);
  const isDeleted = isBeingDeleted(compute);
  const isTakeover = write?.record.operation === "takeover";
  const said = (message: string) => ({ kind: "wait", reason: "CreateUnknown", message }) as const;
  switch (opening.kind) {
    case "elsewhere":
      return said(messages.sentElsewhere(opening.baseURL, o.baseURL, signature));
    case "nameless":
      return said(messages.nameless(idsOf(opening.candidates), isDeleted));
    case "waiting": {
      const { forMs: requeueAfterMs } = opening;
      if (isTakeover && write?.made !== undefined && !isDeleted) {
        return { kind: "wait", reason: "Updating", message: creating.takingOver(write.made), requeueAfterMs };
      }
      return { ...said(messages.searching(signature, createSettleMs, isDeleted)), requeueAfterMs };
    }
  }
}

/** True if the endpoint that the open request made, or may have made, is linked and listed. */
function isOwnListed({ links: { link } }: Observation, { write }: ReadonlyState): boolean {
  if (link === undefined || (link.proof !== "signature" && link.proof !== "created")) return false;
  return write?.made === undefined || write.made === link.endpoint.id;
}

/** Changes of an endpoint wait while a record is open: a list that lags may show one that is gone. */
export function awaitClosing(o: Observation, s: ReadonlyState): Action | undefined {
  const { write } = s;
  if (write === undefined || !isOpen(write)) return undefined;
  if (write.record.operation === "move") {
    const requeueAfterMs = leftUntil(closesAt(o, write), o.now);
    return { kind: "wait", reason: "Moving", message: moving.earlierMove, requeueAfterMs };
  }
  // An answer to this term's request closes the record as soon as a list shows it.
  const isAnswered = write.made !== undefined && write.record.operation === "create";
  return noop(isAnswered ? soonMs : undefined);
}

function idsOf(endpoints: readonly Endpoint[]): string[] {
  return endpoints.map(({ id }) => id);
}
