import { createdProof } from "../../operator/compute/observe/ownership.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import type { Progress } from "../../operator/compute/status/reasons.ts";
import type { Compute, ComputeStatus } from "../../operator/resources/compute.ts";
import { annotations, finalizers } from "../../operator/resources/names.ts";

// What the operator would write into the Compute. Without a cluster it stands in memory, as long as the command runs.

/** The steps that only a cluster sees: they are carried out on paper. */
export type OnPaper = Extract<Action, { kind: "link" | "restorePending" | "clearPending" | "restarted" }>;

export function isOnPaper(action: Action): action is OnPaper {
  return (
    action.kind === "link" ||
    action.kind === "restorePending" ||
    action.kind === "clearPending" ||
    action.kind === "restarted"
  );
}

/** The Compute as the operator's patch would leave it. */
export function onPaper(action: OnPaper, compute: Compute): Compute {
  switch (action.kind) {
    case "link":
      return linked(
        action.news === "none" ? compute : untouched(compute),
        action.endpointID,
        action.proof === "created",
      );
    case "restorePending":
      return guarded(annotated(compute, { [annotations.pendingCreate]: JSON.stringify(action.mark) }));
    case "clearPending":
      return annotated(compute, {}, annotations[action.mark]);
    case "restarted":
      return annotated(reported(compute, { restartedAt: action.value }), {}, annotations.pendingRestart);
  }
}

/** Linked to its endpoint; `noted` where no name at the service proves that it made it. */
export function linked(compute: Compute, endpointID: string, noted: boolean): Compute {
  const proof = noted ? { [annotations.createdEndpoint]: createdProof(compute.metadata.uid, endpointID) } : {};
  const link = { [annotations.endpointID]: endpointID, ...proof };
  return guarded(annotated(compute, link, annotations.pendingCreate));
}

/** With annotations set, and one taken away. */
export function annotated(compute: Compute, set: Record<string, string>, remove?: string): Compute {
  const all = { ...compute.metadata.annotations, ...set };
  const kept = Object.fromEntries(Object.entries(all).filter(([name]) => name !== remove));
  return { ...compute, metadata: { ...compute.metadata, annotations: kept } };
}

/** With the finalizer that guards the endpoint. */
export function guarded(compute: Compute): Compute {
  const all = [...new Set([...(compute.metadata.finalizers ?? []), finalizers.endpoint])];
  return { ...compute, metadata: { ...compute.metadata, finalizers: all } };
}

export function reported(compute: Compute, status: Partial<ComputeStatus>): Compute {
  return { ...compute, status: { ...compute.status, ...status } };
}

/** A write of ours was accepted and is being carried out. */
export function begun(compute: Compute, reason: Progress): Compute {
  const ready = { type: "Ready", status: "False", reason, message: "", lastTransitionTime: "" };
  return reported(compute, { conditions: [ready] });
}

/** Nothing of the spec was sent yet. */
export function untouched(compute: Compute): Compute {
  return reported(compute, { appliedGeneration: -1 });
}

/** The service was brought to this generation of the spec. */
export function applied(compute: Compute): Compute {
  return reported(compute, { appliedGeneration: compute.metadata.generation ?? 0 });
}
