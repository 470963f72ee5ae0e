import type { Compute } from "../resources/compute.ts";
import { createEndpoint } from "./act/create.ts";
import { meaningOf } from "./act/failures.ts";
import type { Hands } from "./act/hands.ts";
import { deleteEndpoint, patchEndpoint, restartEndpoint, restarted } from "./act/write.ts";
import { unlistedMessage } from "./finalize.ts";
import { shownReason } from "./observe/view.ts";
import { type Outcome, shown, unchanged } from "./outcome.ts";
import { nextLook } from "./reasons.ts";
import { isWrite, type Step, type Write } from "./step.ts";

type Acted = Write | Extract<Step, { step: "restarted" | "confirmGone" }>;

/** Carries out one step that concerns the service: at most one write, sent once. Never sleeps, polls or resends. */
export async function act(step: Acted, compute: Compute, hands: Hands): Promise<Outcome> {
  // In this order, and neither is waited for: who has the turn and no budget would pass it on for ever.
  if (asksService(step) && !hands.fare.affordable) return unaffordable(step, compute, hands);
  if (isWrite(step) && !hands.watcher.turn.take(compute.metadata.uid)) return queued(step, compute);
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

function asksService(step: Acted): step is Write | ConfirmGone {
  return isWrite(step) || step.step === "confirmGone";
}

/** How long to wait for the project's turn before asking again, in milliseconds; whoever waits is also woken. */
const turnLookMs = 5000;

const progressOf = { create: "Creating", patch: "Updating", restart: "Restarting", delete: "Deleting" } as const;

/** Other writes of the project are under way; the service would refuse this one with 423. */
function queued(write: Write, compute: Compute): Outcome {
  // What it says of this write already stays: to take turns with what a pass says that has the turn would never end.
  if (shownReason(compute) === progressOf[write.step]) return unchanged(compute, turnLookMs);
  const message = "Sent as soon as the other changes of the project that are under way are done.";
  return shown(compute, progressOf[write.step], message, { lookInMs: turnLookMs });
}

/** How long a Compute that waits for the budget is left before it is looked at anyway, in milliseconds; it is woken. */
const budgetLookMs = 60_000;
/** A wait that is longer, in milliseconds, is worth a word. */
const longWaitMs = 5000;

/** The budget is spent, or the service asked for a pause. */
function unaffordable(step: Write | ConfirmGone, compute: Compute, { fare }: Hands): Outcome {
  const { closedForMs } = fare;
  if (closedForMs > longWaitMs) {
    const pause = "the service asked for a pause, and nothing is sent until it is over";
    const { reason, message } = meaningOf({ kind: "rateLimited", message: pause }, "");
    return shown(compute, reason, message, { lookInMs: closedForMs });
  }
  if (!isWrite(step) || fare.waitMs <= longWaitMs) return unchanged(compute, budgetLookMs);
  const message =
    "Sent as soon as spec.requestBudget of the ServiceConnection has room: other requests of the same key come first.";
  return shown(compute, progressOf[step.step], message, { lookInMs: budgetLookMs });
}

type ConfirmGone = Extract<Step, { step: "confirmGone" }>;

/** The endpoint's own GET: 404 proves what the lists suggest. */
async function confirmGone(
  { endpointID, after }: ConfirmGone,
  compute: Compute,
  { client, memory, signal, clock }: Hands,
): Promise<Outcome> {
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
