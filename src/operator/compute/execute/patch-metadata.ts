import type { EventInput } from "../../kube/event-record.ts";
import { guardedPatch } from "../../kube/json-patch.ts";
import { type Compute, computeKind, parseCompute } from "../../resources/compute.ts";
import { annotations, finalizers } from "../../resources/names.ts";
import { sameJSON } from "../../resources/record.ts";
import { createdProof } from "../observe/ownership.ts";
import { type Outcome, unchanged } from "../outcome.ts";
import type { Action, LinkNews } from "../plan/action.ts";
import { adopted, created, tookOverFormer } from "../status/messages/events.ts";
import type { ComputePatcher, ExecuteContext } from "./context.ts";

/** Actions that only patch the Compute: the service is not asked. */
export type MetadataAction = Extract<Action, { kind: "link" | "clearPending" | "restorePending" | "release" }>;

export async function patchMetadata(action: MetadataAction, context: ExecuteContext): Promise<Outcome> {
  const { compute, cluster, state } = context;
  state.createMarked(undefined);
  switch (action.kind) {
    case "link":
      return link(action, context);
    case "clearPending":
      return unchanged(
        await patched(cluster, guardedPatch(compute).removeAnnotation(annotations[action.mark]), compute),
      );
    case "restorePending": {
      // A later process must know that a POST may have been sent.
      const patch = guardedPatch(compute, { resourceVersion: true })
        .addFinalizer(finalizers.endpoint)
        .setAnnotation(annotations.pendingCreate, JSON.stringify(action.mark));
      return unchanged(await patched(cluster, patch, compute));
    }
    case "release":
      return release(action, context);
  }
}

async function link(action: Extract<Action, { kind: "link" }>, context: ExecuteContext): Promise<Outcome> {
  const { cluster } = context;
  const { endpointID } = action;
  const compute = action.news === "none" ? context.compute : await takeOver(action.news, context);
  const patch = guardedPatch(compute, { resourceVersion: true })
    .addFinalizer(finalizers.endpoint)
    .setAnnotation(annotations.endpointID, endpointID)
    .setAnnotation(annotations.pendingCreate, action.keepsMark && JSON.stringify(action.keepsMark))
    .removeAnnotation(annotations.pendingTakeover);
  const proof = createdProof(compute.metadata.uid, endpointID);
  if (action.proof === "created") patch.setAnnotation(annotations.createdEndpoint, proof);
  const { adopt } = compute.spec;
  if (action.proof === "adopted" && adopt !== undefined && "branchPrimary" in adopt) {
    patch.setAnnotation(annotations.adoptedEndpoint, proof);
  }
  return unchanged(await patched(cluster, patch, compute), { events: linkEvents(action) });
}

/**
 * Before an endpoint is taken over: it is still to be brought to the spec, also if another process continues. The
 * status must not say that this operator disabled an endpoint that it did not create.
 */
function takeOver(
  news: Exclude<LinkNews, "none">,
  { compute, annotations: { pendingCreate }, cluster, state }: ExecuteContext,
): Promise<Compute> {
  state.tookOver();
  const { disabledByUs, unansweredDisables, ...rest } = compute.status;
  // An endpoint that a person names while a create is pending may be what that made.
  const ours = news === "created" || pendingCreate !== undefined;
  const count = unansweredDisables === undefined ? {} : { unansweredDisables };
  const status = ours && disabledByUs !== undefined ? { ...rest, disabledByUs, ...count } : rest;
  if (status.appliedGeneration === -1 && sameJSON(status, compute.status)) return Promise.resolve(compute);
  const patch = guardedPatch(compute, { resourceVersion: true }).setStatus({ ...status, appliedGeneration: -1 });
  return patched(cluster, patch, compute, { subresource: "status" });
}

function linkEvents({ news, endpointID, proof }: Extract<Action, { kind: "link" }>): EventInput[] {
  switch (news) {
    case "none":
      return [];
    case "adopted":
      return [{ type: "Normal", reason: "Adopted", message: adopted(endpointID) }];
    case "former":
      return [{ type: "Normal", reason: "Adopted", message: tookOverFormer(endpointID) }];
    case "created":
      if (proof === "none") return [{ type: "Warning", reason: "Created", message: created.unproved(endpointID) }];
      return [{ type: "Normal", reason: "Created", message: created.replyLost(endpointID) }];
  }
}

/** Sends a patch of a Compute and reads the answer; a patch that would change nothing is not sent. */
export async function patched(...[cluster, patch, compute, options]: Parameters<typeof noted>): Promise<Compute> {
  return patch.isEmpty ? compute : noted(cluster, patch, compute, options);
}

/**
 * Writes what must stand before a request is sent. It is sent also where it would change nothing: what the object is
 * known to hold may have been removed by a patch whose reply was lost, and an object that is gone holds nothing.
 */
export async function noted(
  cluster: ComputePatcher,
  patch: ReturnType<typeof guardedPatch>,
  compute: Compute,
  options: { subresource?: "status" } = {},
): Promise<Compute> {
  const answer = parseCompute(await cluster.patch(computeKind, compute.metadata, patch.ops(), options));
  if (!answer.ok) throw new Error(`the API server answered with a Compute that cannot be read: ${answer.problem}`);
  return answer.value;
}

/**
 * Records, before a write that disables the endpoint is sent, that this operator disabled it; `unansweredDisables`
 * counts this write.
 */
export function recordDisabling(
  { disabled }: { disabled?: boolean | undefined },
  { compute, cluster }: ExecuteContext,
  unansweredDisables = compute.status.unansweredDisables,
): Promise<Compute> {
  const { status } = compute;
  const isRecorded = status.disabledByUs === true && status.unansweredDisables === unansweredDisables;
  if (disabled !== true) return Promise.resolve(compute);
  const count = unansweredDisables === undefined ? {} : { unansweredDisables };
  const patch = guardedPatch(compute, { resourceVersion: true });
  if (!isRecorded) patch.setStatus({ ...status, disabledByUs: true, ...count });
  return noted(cluster, patch, compute, { subresource: "status" });
}

/** Releases a Compute: removes our finalizer and reports it. */
export async function release(
  { event, message }: Pick<Extract<Action, { kind: "release" }>, "event" | "message">,
  { compute, cluster }: ExecuteContext,
): Promise<Outcome> {
  const patch = guardedPatch(compute, { resourceVersion: true }).removeFinalizer(finalizers.endpoint);
  if (!patch.isEmpty) await cluster.patch(computeKind, compute.metadata, patch.ops());
  const events = [{ type: "Normal", reason: event, message }] as const;
  return { ...unchanged(compute, { events }), condition: { kind: "released" } };
}
