import type { EventInput } from "../../kube/event-record.ts";
import { after, atOnce } from "../../life/outcome.ts";
import { isBeingDeleted } from "../../objects/object.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import type { Compute } from "../../resources/compute.ts";
import { soonMs } from "../../runtime/waits.ts";
import { type Effect, type Outcome, shown, unchanged } from "../outcome.ts";
import { type Action, isCut, type WriteAction } from "../plan/action.ts";
import type { ReconcileState } from "../reconcile-state.ts";
import { deleting } from "../words/deletion.ts";
import { meaningOf, requests } from "../words/failures.ts";
import type { ExecuteContext } from "./context.ts";
import { createEndpoint } from "./create.ts";
import { deleteEndpoint, keepEndpoint } from "./delete.ts";
import { dropFinalizer, link, release, restoreFinalizer } from "./patch-metadata.ts";
import { restartEndpoint, restarted } from "./restart.ts";
import { resetPassword } from "./rotate.ts";
import { signEndpoint } from "./sign.ts";
import { paused, waiting } from "./unsent.ts";
import { patchEndpoint } from "./update.ts";

type ConfirmDeletion = Extract<Action, { kind: "confirmDeletion" }>;

/**
 * Carries out one action, for the operator and for `apply` alike: at most one write to the service, sent once. Never
 * sleeps, polls or resends.
 */
export async function execute(action: Action, context: ExecuteContext): Promise<Outcome> {
  const { compute, state, access } = context;
  switch (action.kind) {
    case "noop":
      if (action.asksWhetherIdle !== undefined) state.askedWhetherIdle(action.asksWhetherIdle);
      return unchanged(compute, { requeue: after(action.requeueAfterMs) });
    case "wait":
    case "blocked": {
      return shown(compute, action.reason, action.message, {
        requeue: after(action.requeueAfterMs),
        effect: effectOf(action),
        events: warnings(action, state),
      });
    }
    case "settled": {
      state.succeeded();
      const waits = action.waiting === undefined ? {} : { waiting: action.waiting };
      const kept = action.keepsEntry === undefined ? {} : { keepsEntry: action.keepsEntry };
      const effect = { kind: "settled", drift: action.drift, ...waits, ...kept } as const;
      return shown(compute, action.reason, action.message, { requeue: after(action.requeueAfterMs), effect });
    }
    case "resolve":
      return resolved(action, compute);
    case "link":
      return link(action, context);
    case "release":
      return release(action, context);
    case "dropFinalizer":
      return dropFinalizer(context);
    case "restoreFinalizer":
      return restoreFinalizer(context);
    case "restarted":
      return restarted(action, context);
    case "create":
    case "patch":
    case "sign":
    case "restart":
    case "rotate":
    case "delete":
      return access === undefined ? unchanged(compute) : write(action, context, access);
    case "confirmDeletion":
      return access === undefined ? unchanged(compute) : confirmDeletion(action, context, access);
  }
}

function effectOf({ ownedByOther, gone }: Extract<Action, { kind: "wait" | "blocked" }>): Effect {
  if (gone !== undefined) return { kind: "gone", endpointID: gone };
  return { kind: ownedByOther === true ? "ownedByOther" : "none" };
}

/** The status records it; the next reconcile plans from that. */
function resolved({ branch, moves }: Extract<Action, { kind: "resolve" }>, compute: Compute): Outcome {
  const rest = { requeue: after(1), effect: { kind: "resolved", branch } } as const;
  if (moves === undefined) return unchanged(compute, rest);
  return shown(compute, "Moving", moves, { ...rest, events: [{ type: "Normal", reason: "Moving", message: moves }] });
}

function warnings(action: Extract<Action, { kind: "wait" | "blocked" }>, state: ReconcileState): EventInput[] {
  if (action.kind !== "wait" || action.warnsOf === undefined) return [];
  state.warnedOf(action.warnsOf);
  return [{ type: "Warning", reason: action.reason, message: action.message }];
}

async function write(action: WriteAction, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { compute, uninstalling, state } = context;
  const { underWay } = access.lister;
  const target = action.kind === "create" ? undefined : action.endpointID;
  // Another Compute's, as of one of which this is a copy: what it does is to be listed first.
  if (target !== undefined && underWay.has(target)) return unchanged(compute, { requeue: after(soonMs) });
  const wait = access.gate.pass(action.kind === "delete" ? "deletion" : "other");
  // While the CRD is being deleted nothing is deleted at the service, so nothing waits for the brake.
  if (wait === "brake" && action.kind === "delete" && isBeingDeleted(compute) && (await uninstalling.lately(compute)))
    return keepEndpoint(action.endpointID, context);
  // A signature that is only renewed shows no wait.
  if (wait !== undefined && action.kind === "sign" && !action.takesOver) {
    return unchanged(compute, { requeue: { kind: "enqueued" } });
  }
  if (wait !== undefined) return waiting(wait, action, context, access);
  if (target === undefined) return send(action, context, access);
  const cuts = isCut(action);
  // A sibling may have taken the turn since the plan.
  if (cuts && context.hasTurn?.() === false) return unchanged(compute, { requeue: atOnce });
  // Of one outside a pool nobody waits for the end, so no list is asked for it.
  if (cuts && context.hasTurn !== undefined) state.cuts(Number.POSITIVE_INFINITY);
  underWay.add(target);
  try {
    return await send(action, context, access);
  } finally {
    underWay.delete(target);
    if (state.known.cutAt === Number.POSITIVE_INFINITY) state.cuts(undefined);
  }
}

function send(action: WriteAction, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  switch (action.kind) {
    case "create":
      return createEndpoint(action, context, access);
    case "patch":
      return patchEndpoint(action, context, access);
    case "sign":
      return signEndpoint(action, context, access);
    case "restart":
      return restartEndpoint(action, context, access);
    case "rotate":
      return resetPassword(action, context, access);
    case "delete":
      return deleteEndpoint(action, context, access);
  }
}

/** The endpoint's own GET: 404 proves what the lists suggest. */
async function confirmDeletion(
  { endpointID, after: reason }: ConfirmDeletion,
  { compute, state, signal, clock }: ExecuteContext,
  { client, reservation }: ServiceAccess,
): Promise<Outcome> {
  if (!reservation.tryTake("write")) {
    return paused(compute, reservation) ?? unchanged(compute, { requeue: { kind: "enqueued" } });
  }
  const answer = await client.getEndpoint(compute.spec.projectID, endpointID, signal);
  if (answer.kind === "notFound") {
    state.provedGone(endpointID, reason);
    return unchanged(compute, { requeue: after(1) });
  }
  if (answer.kind === "ok") {
    // The lists lag behind: nothing is concluded, and the next plan needs a newer one.
    const requeue = after(state.stillThere(endpointID, reason, clock.monotonic()));
    const isShown = reason === "lost" && isBeingDeleted(compute);
    return isShown
      ? shown(compute, "Deleting", deleting.notListed(endpointID), { requeue })
      : unchanged(compute, { requeue });
  }
  if (answer.kind === "superseded") return unchanged(compute, { requeue: after(1) });
  const meaning = meaningOf(answer, requests.show(endpointID));
  return shown(compute, meaning.reason, meaning.message);
}
