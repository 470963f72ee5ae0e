import type { Compute } from "../../resources/compute.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import { type Action, isWrite, type WriteAction } from "../plan/action.ts";
import { deleting } from "../status/messages/deletion.ts";
import { requests } from "../status/messages/failures.ts";
import { requeueDelay } from "../status/reasons.ts";
import type { ExecuteContext, PatchContext, WriteAccess } from "./context.ts";
import { createEndpoint } from "./create.ts";
import { meaningOf } from "./failures.ts";
import { patchMetadata } from "./patch-metadata.ts";
import { deleteEndpoint, keepEndpoint, patchEndpoint, restartEndpoint, restarted } from "./update.ts";
import { paused, waiting } from "./waiting.ts";

type ServiceAction = WriteAction | Extract<Action, { kind: "confirmDeletion" }>;

/**
 * Carries out one action, for the operator and for `apply` alike: at most one write to the service, sent once. Never
 * sleeps, polls or resends. Without `access` the connection is not open, and nothing is asked of the service.
 */
export async function execute(
  action: Action,
  compute: Compute,
  context: PatchContext,
  access: WriteAccess | undefined,
): Promise<Outcome> {
  switch (action.kind) {
    case "noop":
      return unchanged(compute, action.requeueAfterMs);
    case "wait":
    case "blocked": {
      const ownedByOther = action.ownedByOther === undefined ? {} : { ownedByOther: action.ownedByOther };
      return shown(compute, action.reason, action.message, { ...requeueOf(action), ...ownedByOther });
    }
    case "settled": {
      delete context.memory.failedWrite;
      const over = action.disablesOver === true ? { unansweredDisables: 0 } : {};
      const { drift } = action;
      return shown(compute, action.reason, action.message, { drift, ...requeueOf(action), ...over });
    }
    case "link":
      // What is taken over is still to be brought to the spec, whatever was sent to it before.
      if (action.news !== "none") delete context.memory.accepted;
      return patchMetadata(action, compute, context.cluster);
    case "release":
    case "clearPending":
    case "restorePending":
      return patchMetadata(action, compute, context.cluster);
    case "restarted":
      return restarted(action, compute, context);
    case "create":
    case "patch":
    case "restart":
    case "delete":
    case "confirmDeletion":
      return access === undefined ? unchanged(compute) : ask(action, compute, { ...context, ...access });
  }
}

function requeueOf({ requeueAfterMs }: { requeueAfterMs?: number }): { requeueAfterMs?: number } {
  return requeueAfterMs === undefined ? {} : { requeueAfterMs };
}

async function ask(action: ServiceAction, compute: Compute, context: ExecuteContext): Promise<Outcome> {
  if (isWrite(action)) {
    const wait = context.gate.pass(action.kind === "delete" ? "deletion" : "other");
    if (wait === "brake" && action.kind === "delete" && (await isUninstalling(compute, context)))
      return keepEndpoint(action.endpointID, compute, context);
    if (wait !== undefined) return waiting(wait, action, compute, context.reservation);
  }
  switch (action.kind) {
    case "create":
      return createEndpoint(action, compute, context);
    case "patch":
      return patchEndpoint(action, compute, context);
    case "restart":
      return restartEndpoint(action, compute, context);
    case "delete":
      return deleteEndpoint(action, compute, context);
    case "confirmDeletion":
      return confirmGone(action, compute, context);
  }
}

/** Nothing is deleted then, so nothing waits for the brake. */
async function isUninstalling(compute: Compute, { uninstalling }: ExecuteContext): Promise<boolean> {
  return compute.metadata.deletionTimestamp !== undefined && (await uninstalling.lately(compute));
}

type ConfirmGone = Extract<Action, { kind: "confirmDeletion" }>;

/** The endpoint's own GET: 404 proves what the lists suggest. */
async function confirmGone(
  { endpointID, after }: ConfirmGone,
  compute: Compute,
  { client, reservation, memory, signal, clock }: ExecuteContext,
): Promise<Outcome> {
  if (!reservation.tryTake("write")) return paused(compute, reservation) ?? { ...unchanged(compute), isWoken: true };
  const answer = await client.getEndpoint(compute.spec.projectID, endpointID, signal);
  if (answer.kind === "notFound") {
    if (after === "deleted") memory.deleted = { endpointID, proved: true };
    else if (memory.missing !== undefined) memory.missing = { ...memory.missing, proved: true };
    if (memory.proved?.endpointID === endpointID) delete memory.proved;
    return unchanged(compute, 1);
  }
  if (answer.kind === "ok") {
    // The lists lag behind: nothing is concluded, and the next plan needs a newer one.
    delete memory.missing;
    memory.listsCountAfter = clock.monotonic();
    const before = memory.deleted?.shown ?? 0;
    if (after === "deleted") memory.deleted = { endpointID, proved: false, shown: before + 1 };
    // A deletion that waits says so.
    else if (compute.metadata.deletionTimestamp !== undefined)
      return shown(compute, "Deleting", deleting.notListed(endpointID));
    return unchanged(compute, requeueDelay("backoff", before));
  }
  if (answer.kind === "superseded") return unchanged(compute, 1);
  const { reason, message } = meaningOf(answer, requests.show(endpointID));
  return shown(compute, reason, message);
}
