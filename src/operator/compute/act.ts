import type { Compute } from "../resources/compute.ts";
import { createEndpoint } from "./act/create.ts";
import { meaningOf } from "./act/failures.ts";
import type { Hands } from "./act/hands.ts";
import { paused, waiting } from "./act/waiting.ts";
import { deleteEndpoint, keepEndpoint, patchEndpoint, restartEndpoint, restarted } from "./act/write.ts";
import { unlistedMessage } from "./finalize.ts";
import { type Outcome, shown, unchanged } from "./outcome.ts";
import { nextLook } from "./reasons.ts";
import { isWrite, type Step, type Write } from "./step.ts";

type Acted = Write | Extract<Step, { step: "restarted" | "confirmGone" }>;

/** Carries out one step that concerns the service: at most one write, sent once. Never sleeps, polls or resends. */
export async function act(step: Acted, compute: Compute, hands: Hands): Promise<Outcome> {
  if (isWrite(step)) {
    const wait = hands.gate.pass(step.step === "delete" ? "deletion" : "other");
    if (wait === "brake" && step.step === "delete" && (await isUninstalling(compute, hands)))
      return keepEndpoint(step.endpointID, compute, hands);
    if (wait !== undefined) return waiting(wait, step, compute, hands.reservation);
  }
  switch (step.step) {
    case "create":
      return createEndpoint(step, compute, hands);
    case "patch":
      return patchEndpoint(step, compute, hands);
    case "restart":
      return restartEndpoint(step, compute, hands);
    case "delete":
      return deleteEndpoint(step, compute, hands);
    case "restarted":
      return restarted(step, compute, hands);
    case "confirmGone":
      return confirmGone(step, compute, hands);
  }
}

/** Nothing is deleted then, so nothing waits for the brake. */
async function isUninstalling(compute: Compute, { uninstalling }: Hands): Promise<boolean> {
  return compute.metadata.deletionTimestamp !== undefined && (await uninstalling.lately(compute));
}

type ConfirmGone = Extract<Step, { step: "confirmGone" }>;

/** The endpoint's own GET: 404 proves what the lists suggest. */
async function confirmGone(
  { endpointID, after }: ConfirmGone,
  compute: Compute,
  { client, reservation, memory, signal, clock }: Hands,
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
    return unchanged(compute, nextLook("backoff", before));
  }
  if (answer.kind === "superseded") return unchanged(compute, 1);
  const { reason, message } = meaningOf(answer, `show endpoint ${endpointID}`);
  return shown(compute, reason, message);
}
