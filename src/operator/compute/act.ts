import type { ClusterClient } from "../cluster/client.ts";
import { guardedPatch } from "../cluster/json-patch.ts";
import type { Compute } from "../resources/compute.ts";
import { annotations, finalizers } from "../resources/names.ts";
import { createEndpoint } from "./act/create.ts";
import { meaningOf } from "./act/failures.ts";
import { type Hands, patched, release } from "./act/hands.ts";
import { deleteEndpoint, patchEndpoint, restartEndpoint } from "./act/write.ts";
import { createdProof } from "./observe/link.ts";
import type { CreateMark } from "./observe/marks.ts";
import { type Note, type Outcome, shown, unchanged } from "./outcome.ts";
import { isWrite, type Step, type Write } from "./step.ts";

type Acted = Exclude<Step, { step: "wait" | "hold" | "refuse" | "settled" }>;

/** Carries out one step: at most one write to the service, sent once. Never sleeps, polls or resends. */
export async function act(step: Acted, compute: Compute, hands: Hands): Promise<Outcome> {
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
      return shown(compute, "Restarting", `Endpoint ${step.endpointID} was restarted.`, {
        restarted: step.value,
        notes: [{ type: "Normal", reason: "Restarted", message: `Restarted endpoint ${step.endpointID}.` }],
      });
    case "link":
      return link(step, compute, hands);
    case "unmark":
      return unchanged(
        await patched(hands.cluster, guardedPatch(compute).removeAnnotation(annotations[step.mark]), compute),
      );
    case "remark":
      return unchanged(await remark(step.mark, compute, hands.cluster));
    case "confirmGone":
      return confirmGone(step, compute, hands);
    case "release":
      return release(step, compute, hands.cluster);
  }
}

/** Puts back what somebody dropped, as it was: whoever comes next must know that a POST may have been sent. */
function remark(mark: CreateMark, compute: Compute, cluster: ClusterClient): Promise<Compute> {
  const patch = guardedPatch(compute, { resourceVersion: true })
    .addFinalizer(finalizers.endpoint)
    .setAnnotation(annotations.pendingCreate, JSON.stringify(mark));
  return patched(cluster, patch, compute);
}

/** How long to wait for the project's turn before asking again, in milliseconds; whoever waits is also woken. */
const turnLookMs = 5000;

/** Other writes of the project are under way; the service would refuse this one with 423. */
function queued(write: Write, compute: Compute): Outcome {
  const reason = { create: "Creating", patch: "Updating", restart: "Restarting", delete: "Deleting" } as const;
  const message = "Sent as soon as the other changes of the project that are under way are done.";
  return shown(compute, reason[write.step], message, { lookInMs: turnLookMs });
}

async function link(step: Extract<Step, { step: "link" }>, before: Compute, { cluster }: Hands): Promise<Outcome> {
  const { endpointID } = step;
  const compute = step.news === "none" ? before : await toBeBrought(before, cluster);
  const patch = guardedPatch(compute, { resourceVersion: true })
    .addFinalizer(finalizers.endpoint)
    .setAnnotation(annotations.endpointID, endpointID);
  if (step.keepsMark !== true) patch.removeAnnotation(annotations.pendingCreate);
  const note = createdProof(compute.metadata.uid, endpointID);
  if (step.proof === "created") patch.setAnnotation(annotations.createdEndpoint, note);
  const { adopt } = compute.spec;
  if (step.proof === "adopted" && adopt !== undefined && "branchPrimary" in adopt) {
    patch.setAnnotation(annotations.adoptedEndpoint, note);
  }
  return unchanged(await patched(cluster, patch, compute), undefined, linkNotes(step));
}

/** Before an endpoint is taken over: it is still to be brought to the spec, whoever comes next. */
function toBeBrought(compute: Compute, cluster: ClusterClient): Promise<Compute> {
  const { status } = compute;
  if (status.appliedGeneration === -1) return Promise.resolve(compute);
  const patch = guardedPatch(compute, { resourceVersion: true }).setStatus({ ...status, appliedGeneration: -1 });
  return patched(cluster, patch, compute, { subresource: "status" });
}

function linkNotes({ news, endpointID }: Extract<Step, { step: "link" }>): Note[] {
  switch (news) {
    case "none":
      return [];
    case "adopted":
      return [{ type: "Normal", reason: "Adopted", message: `Took over endpoint ${endpointID}.` }];
    case "created":
      return [
        { type: "Normal", reason: "Created", message: `Created endpoint ${endpointID}; its reply had been lost.` },
      ];
  }
}

/** The endpoint's own GET: 404 proves what the lists suggest. */
async function confirmGone(
  { endpointID, after }: Extract<Step, { step: "confirmGone" }>,
  compute: Compute,
  { watcher, memory, signal, clock }: Hands,
): Promise<Outcome> {
  const answer = await watcher.client.getEndpoint(compute.spec.projectID, endpointID, signal);
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
    return unchanged(compute, 1000);
  }
  if (answer.kind === "superseded") return unchanged(compute, 1);
  const { reason, message } = meaningOf(answer, `show endpoint ${endpointID}`);
  return shown(compute, reason, message);
}
