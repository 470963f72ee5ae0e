import type { Proof } from "../../claims/ownership.ts";
import type { EventInput } from "../../kube/event-record.ts";
import { after } from "../../life/outcome.ts";
import { letGo, type PatchedKind, patched, patchOf, withFinalizer, withStatus } from "../../life/patching.ts";
import { sameJSON } from "../../objects/record.ts";
import { type Compute, computeKind, parseCompute } from "../../resources/compute.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { annotations, finalizers } from "../../resources/names.ts";
import { shortlyMs } from "../../runtime/waits.ts";
import { isOpen } from "../memory.ts";
import { type Outcome, unchanged } from "../outcome.ts";
import type { Action, LinkNews } from "../plan/action.ts";
import type { ReconcileState } from "../reconcile-state.ts";
import { carriedBy, chosen, relinked } from "../record.ts";
import { adopted, created, tookOverFormer } from "../words/events.ts";
import type { ExecuteContext } from "./context.ts";

// Patches of the Compute alone: the service is not asked.

export const computePatches: PatchedKind<Compute> = {
  kind: computeKind,
  parse: parseCompute,
  finalizer: finalizers.endpoint,
};

export async function restoreFinalizer({ compute, cluster }: ExecuteContext): Promise<Outcome> {
  return unchanged(await withFinalizer(computePatches, cluster, compute));
}

/** The finalizer of an observed Compute goes after its Secrets in other namespaces, which nothing else remembers. */
export async function dropFinalizer({ compute, cluster, secrets, uninstalling }: ExecuteContext): Promise<Outcome> {
  const left = await secrets.remove(compute, uninstalling);
  if (left === undefined) return unchanged(compute, { requeue: after(shortlyMs) });
  const patch = patchOf(compute).removeFinalizer(finalizers.endpoint);
  return unchanged(await patched(computePatches, cluster, patch, compute), { requeue: after(1), events: [...left] });
}

export async function link(action: Extract<Action, { kind: "link" }>, context: ExecuteContext): Promise<Outcome> {
  const { compute, state } = context;
  const { news, endpointID, proof } = action;
  if (proof === "signature" || proof === "created") state.changeWrite((write) => relinked(write, endpointID));
  if (news !== "none") state.tookOver();
  const linked = await writeLink({ endpointID, proof, news }, compute, context);
  if (news === "adopted") state.changeWrite((write) => chosen(write, endpointID));
  return unchanged(linked, { events: linkEvents(action) });
}

/**
 * Links an endpoint: finalizer and id in one patch. What a list cannot prove is noted in the status first; and of one
 * that is taken over, that it is still to be brought to the spec, also if another process continues. The status of a
 * create says already which generation it has.
 */
export async function writeLink(
  { endpointID, proof, news = "none" }: { endpointID: string; proof: Proof; news?: LinkNews },
  compute: Compute,
  context: ExecuteContext,
): Promise<Compute> {
  const { cluster, state } = context;
  const isNoted = proof === "created" || proof === "adopted";
  const before = compute.status;
  const status = {
    ...statusCarrying(compute, state),
    ...(isNoted ? { proof: { uid: compute.metadata.uid, endpointID, by: proof } } : {}),
    // A list that shows the endpoint outranks the proof that it was gone.
    ...(before.gone === endpointID ? { gone: undefined } : {}),
    ...(news === "adopted" || news === "former" ? { appliedGeneration: -1, appliedEntry: undefined } : {}),
    // The status must not say that this operator disabled an endpoint that none of its creates may have made.
    ...((news === "adopted" || news === "former") && !isOpen(state.known.write) ? { disabledByUs: undefined } : {}),
  };
  const isNews = news !== "none" || before.gone === endpointID || !sameJSON(status.proof, before.proof);
  const stood =
    isNews && !sameJSON(status, before) ? await withStatus(computePatches, cluster, status, compute) : compute;
  const isHeld = !isObserved(compute) || isOpen(state.known.write);
  const patch = patchOf(stood).setAnnotation(annotations.endpointID, endpointID);
  return patched(computePatches, cluster, isHeld ? patch.addFinalizer(finalizers.endpoint) : patch, stood);
}

function linkEvents({ news, endpointID }: Extract<Action, { kind: "link" }>): EventInput[] {
  switch (news) {
    case "none":
      return [];
    case "adopted":
      return [{ type: "Normal", reason: "Adopted", message: adopted(endpointID) }];
    case "former":
      return [{ type: "Normal", reason: "Adopted", message: tookOverFormer(endpointID) }];
    case "created":
      return [{ type: "Normal", reason: "Created", message: created.replyLost(endpointID) }];
  }
}

/** The status with the record, and with the restart that is carried out: no status patch drops what one still owes. */
export function statusCarrying(compute: Compute, { known }: ReconcileState): Compute["status"] {
  const { restartedAt = compute.status.restartedAt } = known.handled;
  return { ...compute.status, restartedAt, pendingWrite: carriedBy(known.write, compute) };
}

/** Notes, before a request that disables the endpoint is sent, that this operator disabled it. */
export function noteDisabling(
  { disabled }: { disabled?: boolean | undefined },
  { compute, cluster, state }: ExecuteContext,
): Promise<Compute> {
  if (disabled !== true || compute.status.disabledByUs === true) return Promise.resolve(compute);
  return withStatus(computePatches, cluster, { ...statusCarrying(compute, state), disabledByUs: true }, compute);
}

/** Releases a Compute: removes its Secrets in other namespaces and our finalizer, and reports it. */
export async function release(
  { event, message, warns }: Pick<Extract<Action, { kind: "release" }>, "event" | "message" | "warns">,
  { compute, cluster, state, secrets, uninstalling }: ExecuteContext,
): Promise<Outcome> {
  // The finalizer is all that still waits for them.
  const left = await secrets.remove(compute, uninstalling);
  if (left === undefined) return unchanged(compute, { requeue: after(shortlyMs) });
  await letGo(computePatches, cluster, compute, (isReleased) => state.releasing(isReleased));
  const released = { type: warns === true ? "Warning" : "Normal", reason: event, message } as const;
  return { ...unchanged(compute, { events: [...left, released] }), condition: { kind: "released" } };
}
