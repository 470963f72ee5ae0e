import type { Compute } from "../../resources/compute.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import { type Action, isWrite, type WriteAction } from "../plan/action.ts";
import { unlistedMessage } from "../plan/delete.ts";
import { requests } from "../status/messages/failures.ts";
import { requeueDelay } from "../status/reasons.ts";
import { createEndpoint } from "./create.ts";
import { meaningOf } from "./failures.ts";
import type { ExecuteContext } from "./hands.ts";
import { deleteEndpoint, keepEndpoint, patchEndpoint, restartEndpoint, restarted } from "./update.ts";
import { paused, waiting } from "./waiting.ts";

type ServiceAction = WriteAction | Extract<Action, { kind: "restarted" | "confirmDeletion" }>;

/** Carries out one step that concerns the service: at most one write, sent once. Never sleeps, polls or resends. */
export async function execute(action: ServiceAction, compute: Compute, hands: ExecuteContext): Promise<Outcome> {
  if (isWrite(action)) {
    const wait = hands.gate.pass(action.kind === "delete" ? "deletion" : "other");
    if (wait === "brake" && action.kind === "delete" && (await isUninstalling(compute, hands)))
      return keepEndpoint(action.endpointID, compute, hands);
    if (wait !== undefined) return waiting(wait, action, compute, hands.reservation);
  }
  switch (action.kind) {
    case "create":
      return createEndpoint(action, compute, hands);
    case "patch":
      return patchEndpoint(action, compute, hands);
    case "restart":
      return restartEndpoint(action, compute, hands);
    case "delete":
      return deleteEndpoint(action, compute, hands);
    case "restarted":
      return restarted(action, compute, hands);
    case "confirmDeletion":
      return confirmGone(action, compute, hands);
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
    // The lists lag behind: nothing is concluded, and they are looked at anew.
    delete memory.missing;
    memory.listsCountAfter = clock.monotonic();
    const before = memory.deleted?.shown ?? 0;
    if (after === "deleted") memory.deleted = { endpointID, proved: false, shown: before + 1 };
    // A deletion that waits says so.
    else if (compute.metadata.deletionTimestamp !== undefined)
      return shown(compute, "Deleting", unlistedMessage(endpointID));
    return unchanged(compute, requeueDelay("backoff", before));
  }
  if (answer.kind === "superseded") return unchanged(compute, 1);
  const { reason, message } = meaningOf(answer, requests.show(endpointID));
  return shown(compute, reason, message);
}
