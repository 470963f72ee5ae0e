import { type EndpointSnapshot, generationOf, isPaused, type PlanInput, shownReason } from "../observe/plan-input.ts";
import * as messages from "../status/messages/conditions.ts";
import { type Action, identityOf, isWrite, noop } from "./action.ts";
import { adoption, creation } from "./create.ts";
import { planDelete } from "./delete.ts";
import {
  deleteDuplicate,
  ensureLink,
  linkOfAnotherType,
  ownedByOther,
  recordCreatedEndpoint,
  restoreFinalizer,
} from "./link.ts";
import { adoptReplacement, lostEndpoint } from "./lost.ts";
import { pendingCreate } from "./pending.ts";
import { operationInProgress } from "./progress.ts";
import { restart } from "./restart.ts";
import type { Rule } from "./rule.ts";
import { settle } from "./settle.ts";
import { updateFields } from "./update.ts";

/** The rules for a Compute that is to be, in order; the first that answers decides. The last always answers. */
const rules: readonly Rule[] = [
  recordCreatedEndpoint,
  adoptReplacement,
  pendingCreate,
  deleteDuplicate,
  ownedByOther,
  linkOfAnotherType,
  ensureLink,
  lostEndpoint,
  adoption,
  creation,
  operationInProgress,
  updateFields,
  restart,
];

/** The one thing to do next. Pure: the same view gives the same step, in `run`, `plan` and `apply` alike. */
export function plan(view: PlanInput): Action {
  const { compute } = view;
  if (compute.metadata.deletionTimestamp !== undefined) return afterBackoff(planDelete(view), view);
  if (isPaused(compute)) return whilePaused(view);
  const { observation } = view;
  switch (observation.kind) {
    case "awaited":
      return restoreFinalizer(view) ?? noop(observation.requeueAfterMs);
    case "blocked":
      return (
        comesTogether(view) ??
        restoreFinalizer(view) ?? { kind: "wait", reason: observation.reason, message: observation.message }
      );
    case "listed":
      return afterBackoff(livingStep(view, observation.list), view);
  }
}

/** How long a new Compute waits for its connection before it reports that there is none, in milliseconds. */
const togetherMs = 2000;

/** kubectl apply makes a Compute before its connection where both are in one command: that is no trouble yet. */
function comesTogether({ compute, observation, memory, now }: PlanInput): Action | undefined {
  if (observation.kind !== "blocked" || observation.reason !== "ConnectionNotFound") return undefined;
  const leftMs = memory.seenSince + togetherMs - now;
  return leftMs > 0 && shownReason(compute) === undefined ? noop(leftMs) : undefined;
}

/** Nothing is sent to the service. Finalizer and link are put back all the same, or a deletion would not wait. */
function whilePaused(view: PlanInput): Action {
  const { observation } = view;
  // A list is on its way: what the endpoint does meanwhile is not unknown, but not looked at.
  if (observation.kind === "awaited") return restoreFinalizer(view) ?? { kind: "noop" };
  const paused = { kind: "wait", reason: "Paused", message: messages.paused } as const;
  if (observation.kind === "blocked") return restoreFinalizer(view) ?? paused;
  const { list } = observation;
  // Paused or not, of what is another's nothing is put back, and nothing shown.
  if ((ownedByOther(view, list) ?? linkOfAnotherType(view, list)) !== undefined)
    return { ...paused, ownedByOther: true };
  return ensureLink(view, list) ?? paused;
}

function livingStep(view: PlanInput, list: EndpointSnapshot): Action {
  for (const rule of rules) {
    const action = rule(view, list);
    if (action !== undefined) return action;
  }
  return settle(view, list);
}

/** A write that failed waits its time, unless it has become another or may now go with another key. */
function afterBackoff(action: Action, { memory, compute, observation, now }: PlanInput): Action {
  const { failedWrite } = memory;
  if (failedWrite === undefined || !isWrite(action) || now >= failedWrite.until) return action;
  if (failedWrite.write !== identityOf(action, generationOf(compute))) return action;
  const through = observation.kind === "listed" ? observation.list.through : undefined;
  if (failedWrite.through !== undefined && failedWrite.through !== through) return action;
  return {
    kind: "wait",
    reason: failedWrite.reason,
    message: failedWrite.message,
    requeueAfterMs: failedWrite.until - now,
  };
}
