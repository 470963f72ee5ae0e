import { backingOff } from "../../life/back-off.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import { generationOf, isBeingDeleted } from "../../objects/object.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { soonMs } from "../../runtime/waits.ts";
import type { ReadonlyState } from "../memory.ts";
import { type Observation, type Observed, type Unavailable } from "../observe/observation.ts";
import * as messages from "../words/conditions.ts";
import { type Action, identityOf, isWrite, noop, type PlanRule, pauseOf } from "./action.ts";
import { blockingOperation, operationInProgress, settle } from "./at-rest.ts";
import { branchEnd, endedBranch, resolveBranch } from "./branch.ts";
import { adoption, creation } from "./create.ts";
import { planDelete } from "./delete.ts";
import { renewSignature, signedByOther } from "./former.ts";
import {
  deleteDuplicate,
  ensureLink,
  linkOfAnotherType,
  ownedByOther,
  recordCreatedEndpoint,
  restoreFinalizer,
  restoreMissing,
} from "./link.ts";
import { adoptReplacement, lostEndpoint } from "./lost.ts";
import { dropFinalizer, linkShown, nothingToShow } from "./observe-only.ts";
import { pendingWrite } from "./pending.ts";
import { restart } from "./restart.ts";
import { rotatePassword } from "./rotate.ts";
import { updateFields } from "./update.ts";

/** The rules for a Compute that is to be, in order; the first that answers decides. The last always answers. */
const rules: readonly PlanRule[] = [
  recordCreatedEndpoint,
  restoreMissing,
  pendingWrite,
  adoptReplacement,
  ownedByOther,
  signedByOther,
  linkOfAnotherType,
  ensureLink,
  deleteDuplicate,
  endedBranch,
  lostEndpoint,
  resolveBranch,
  adoption,
  creation,
  blockingOperation,
  updateFields,
  restart,
  rotatePassword,
  renewSignature,
  operationInProgress,
];

/** The rules for a Compute that only observes. */
const rulesToObserve: readonly PlanRule[] = [
  recordCreatedEndpoint,
  restoreMissing,
  pendingWrite,
  linkOfAnotherType,
  linkShown,
  endedBranch,
  resolveBranch,
  nothingToShow,
  operationInProgress,
];

/** The one thing to do next. Pure: the same input gives the same action, in `run`, `plan` and `apply` alike. */
export function plan(o: Observed, s: ReadonlyState): Action {
  if (isBeingDeleted(o.compute)) return afterBackoff(planDelete(o, s), o, s);
  const unheld = dropFinalizer(o, s);
  if (unheld !== undefined) return unheld;
  if (o.annotations.pausedForMs !== undefined) return whilePaused(o, s);
  switch (o.kind) {
    case "pending":
      return restoreFinalizer(o, s) ?? noop(o.requeueAfterMs);
    case "unavailable":
      return (
        awaitConnection(o, s) ??
        restoreFinalizer(o, s) ??
        branchEnd(o.referred) ?? { kind: "wait", reason: o.reason, message: o.message }
      );
    case "observed":
      return afterBackoff(firstOf(o, s), o, s);
  }
}

/** kubectl apply creates a Compute before its connection if both are in one command: that is not reported yet. */
function awaitConnection({ compute, reason, now }: Unavailable, { seenSince }: ReadonlyState): Action | undefined {
  const leftMs = reason === "ConnectionNotFound" ? seenSince + soonMs - now : 0;
  return leftMs > 0 && shownReason(compute) === undefined ? noop(leftMs) : undefined;
}

/** Nothing is sent to the service. Finalizer and link are restored all the same, or a deletion would not wait. */
function whilePaused(o: Observed, s: ReadonlyState): Action {
  // A list is on its way: until then nothing new is known of the endpoint.
  if (o.kind === "pending") return restoreFinalizer(o, s) ?? { kind: "noop" };
  const paused = pauseOf(o.annotations, messages.paused(o.annotations.pausedUntil));
  if (o.kind === "unavailable") return restoreFinalizer(o, s) ?? paused;
  if (isObserved(o.compute)) return recordCreatedEndpoint(o, s) ?? linkShown(o, s) ?? restoreFinalizer(o, s) ?? paused;
  // Paused or not, the link to another Compute's endpoint is not restored, and that endpoint is not shown.
  if ((ownedByOther(o, s) ?? signedByOther(o, s) ?? linkOfAnotherType(o, s)) !== undefined)
    return { ...paused, ownedByOther: true };
  return recordCreatedEndpoint(o, s) ?? ensureLink(o, s) ?? restoreMissing(o, s) ?? restoreFinalizer(o, s) ?? paused;
}

function firstOf(o: Observation, s: ReadonlyState): Action {
  for (const rule of isObserved(o.compute) ? rulesToObserve : rules) {
    const action = rule(o, s);
    if (action !== undefined) return action;
  }
  return settle(o, s);
}

/** A write that failed is not repeated too soon, unless it has changed or can now be sent with another key. */
function afterBackoff(action: Action, o: Observed, { failedWrite }: ReadonlyState): Action {
  if (!isWrite(action)) return action;
  const account = o.kind === "observed" ? o.fingerprint : undefined;
  const failed = backingOff(failedWrite, identityOf(action, generationOf(o.compute)), account, o.now);
  if (failed === undefined) return action;
  return { kind: "wait", reason: failed.reason, message: failed.message, requeueAfterMs: failed.until - o.now };
}
