import { guardedPatch } from "../../kube/json-patch.ts";
import type { Compute } from "../../resources/compute.ts";
import { sameJSON } from "../../resources/equal.ts";
import { annotations, finalizers } from "../../resources/names.ts";
import { createdProof } from "../observe/ownership.ts";
import { type PendingCreate, pendingCreateOf } from "../observe/pending-operations.ts";
import { type EventRecord, type Outcome, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { adopted, created } from "../status/messages/events.ts";
import type { ComputePatcher } from "./context.ts";
import { patched, release } from "./patched.ts";

/** The steps that are written into the Compute alone: the service is not asked. */
export type MetadataAction = Extract<Action, { kind: "link" | "clearPending" | "restorePending" | "release" }>;

export async function patchMetadata(
  action: MetadataAction,
  compute: Compute,
  cluster: ComputePatcher,
): Promise<Outcome> {
  switch (action.kind) {
    case "link":
      return link(action, compute, cluster);
    case "clearPending":
      return unchanged(
        await patched(cluster, guardedPatch(compute).removeAnnotation(annotations[action.mark]), compute),
      );
    case "restorePending":
      return unchanged(await restorePending(action.mark, compute, cluster));
    case "release":
      return release(action, compute, cluster);
  }
}

/** A later process must know that a POST may have been sent. */
function restorePending(mark: PendingCreate, compute: Compute, cluster: ComputePatcher): Promise<Compute> {
  const patch = guardedPatch(compute, { resourceVersion: true })
    .addFinalizer(finalizers.endpoint)
    .setAnnotation(annotations.pendingCreate, JSON.stringify(mark));
  return patched(cluster, patch, compute);
}

async function link(
  action: Extract<Action, { kind: "link" }>,
  before: Compute,
  cluster: ComputePatcher,
): Promise<Outcome> {
  const { endpointID } = action;
  const compute = action.news === "none" ? before : await toBeBrought(before, action.news, cluster);
  const patch = guardedPatch(compute, { resourceVersion: true })
    .addFinalizer(finalizers.endpoint)
    .setAnnotation(annotations.endpointID, endpointID)
    .setAnnotation(annotations.pendingCreate, action.keepsMark && JSON.stringify(action.keepsMark));
  const note = createdProof(compute.metadata.uid, endpointID);
  if (action.proof === "created") patch.setAnnotation(annotations.createdEndpoint, note);
  const { adopt } = compute.spec;
  if (action.proof === "adopted" && adopt !== undefined && "branchPrimary" in adopt) {
    patch.setAnnotation(annotations.adoptedEndpoint, note);
  }
  return unchanged(await patched(cluster, patch, compute), undefined, linkNotes(action));
}

/**
 * Before an endpoint is taken over: it is still to be brought to the spec, whoever comes next. That this operator
 * disabled the endpoint before is not true of one that it did not make.
 */
function toBeBrought(compute: Compute, news: "adopted" | "created", cluster: ComputePatcher): Promise<Compute> {
  const { disabledByUs, unansweredDisables, ...rest } = compute.status;
  // What a person names while a create is pending may be what that made.
  const ours = news === "created" || pendingCreateOf(compute) !== undefined;
  const count = unansweredDisables === undefined ? {} : { unansweredDisables };
  const status = ours && disabledByUs !== undefined ? { ...rest, disabledByUs, ...count } : rest;
  if (status.appliedGeneration === -1 && sameJSON(status, compute.status)) return Promise.resolve(compute);
  const patch = guardedPatch(compute, { resourceVersion: true }).setStatus({ ...status, appliedGeneration: -1 });
  return patched(cluster, patch, compute, { subresource: "status" });
}

function linkNotes({ news, endpointID, proof }: Extract<Action, { kind: "link" }>): EventRecord[] {
  switch (news) {
    case "none":
      return [];
    case "adopted":
      return [{ type: "Normal", reason: "Adopted", message: adopted(endpointID) }];
    case "created":
      if (proof === "none") return [{ type: "Warning", reason: "Created", message: created.unproved(endpointID) }];
      return [{ type: "Normal", reason: "Created", message: created.replyLost(endpointID) }];
  }
}
