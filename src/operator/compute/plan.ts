import { planDeletion } from "./finalize.ts";
import { generationOf, isPaused, type List, shownReason, type View } from "./observe/view.ts";
import { adoption, creation } from "./plan/absent.ts";
import {
  changes,
  linkInOrder,
  linkOfAnotherType,
  putBack,
  runningWrite,
  surplusEndpoint,
  takenEndpoint,
  unrecorded,
} from "./plan/linked.ts";
import { heir, lostEndpoint } from "./plan/lost.ts";
import { pendingCreate } from "./plan/pending.ts";
import { restart } from "./plan/restart.ts";
import type { Rule } from "./plan/rule.ts";
import { settle } from "./plan/settle.ts";
import { hold, identityOf, isWrite, type Step } from "./step.ts";

/** The rules for a Compute that is to be, in order; the first that answers decides. The last always answers. */
const rules: readonly Rule[] = [
  unrecorded,
  heir,
  pendingCreate,
  surplusEndpoint,
  takenEndpoint,
  linkOfAnotherType,
  linkInOrder,
  lostEndpoint,
  adoption,
  creation,
  runningWrite,
  changes,
  restart,
];

/** The one thing to do next. Pure: the same view gives the same step, in `run`, `plan` and `apply` alike. */
export function plan(view: View): Step {
  const { compute } = view;
  if (compute.metadata.deletionTimestamp !== undefined) return heldBack(planDeletion(view), view);
  if (isPaused(compute)) return whilePaused(view);
  const { sight } = view;
  switch (sight.kind) {
    case "awaited":
      return putBack(view) ?? hold(sight.lookInMs);
    case "blocked":
      return comesTogether(view) ?? putBack(view) ?? { step: "wait", reason: sight.reason, message: sight.message };
    case "listed":
      return heldBack(livingStep(view, sight.list), view);
  }
}

/** How long a new Compute waits for its connection before it reports that there is none, in milliseconds. */
const togetherMs = 2000;

/** kubectl apply makes a Compute before its connection where both are in one command: that is no trouble yet. */
function comesTogether({ compute, sight, memory, now }: View): Step | undefined {
  if (sight.kind !== "blocked" || sight.reason !== "ConnectionNotFound") return undefined;
  const leftMs = memory.seenSince + togetherMs - now;
  return leftMs > 0 && shownReason(compute) === undefined ? hold(leftMs) : undefined;
}

/** Nothing is sent to the service. Finalizer and link are put back all the same, or a deletion would not wait. */
function whilePaused(view: View): Step {
  const { sight } = view;
  // A list is on its way: what the endpoint does meanwhile is not unknown, but not looked at.
  if (sight.kind === "awaited") return putBack(view) ?? { step: "hold" };
  const message = "Nothing is sent while the annotation compute-operator.dev/paused is set. Remove it to go on.";
  const paused = { step: "wait", reason: "Paused", message } as const;
  if (sight.kind === "blocked") return putBack(view) ?? paused;
  const { list } = sight;
  // Paused or not, of what is another's nothing is put back, and nothing shown.
  if ((takenEndpoint(view, list) ?? linkOfAnotherType(view, list)) !== undefined) return { ...paused, foreign: true };
  return linkInOrder(view, list) ?? paused;
}

function livingStep(view: View, list: List): Step {
  for (const rule of rules) {
    const step = rule(view, list);
    if (step !== undefined) return step;
  }
  return settle(view, list);
}

/** A write that failed waits its time, unless it has become another or may now go with another key. */
function heldBack(step: Step, { memory, compute, sight, now }: View): Step {
  const { held } = memory;
  if (held === undefined || !isWrite(step) || now >= held.until) return step;
  if (held.write !== identityOf(step, generationOf(compute))) return step;
  const through = sight.kind === "listed" ? sight.list.through : undefined;
  if (held.through !== undefined && held.through !== through) return step;
  return { step: "wait", reason: held.reason, message: held.message, lookInMs: held.until - now };
}
