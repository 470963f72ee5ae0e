import { guardedPatch } from "../../kube/json-patch.ts";
import { type Compute, computeKind, parseCompute } from "../../resources/compute.ts";
import { finalizers } from "../../resources/names.ts";
import { type Outcome, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import type { ComputePatcher, PatchContext } from "./context.ts";

/** Sends a patch of a Compute and reads the answer; a patch that would change nothing is not sent. */
export async function patched(
  cluster: ComputePatcher,
  patch: ReturnType<typeof guardedPatch>,
  compute: Compute,
  options: { subresource?: "status" } = {},
): Promise<Compute> {
  if (patch.isEmpty) return compute;
  const answer = parseCompute(await cluster.patch(computeKind, compute.metadata, patch.ops(), options));
  if (!answer.ok) throw new Error(`the API server answered with a Compute that cannot be read: ${answer.problem}`);
  return answer.value;
}

/**
 * Notes, before a write that disables the endpoint is sent, that this operator disabled it; `unansweredDisables` counts
 * this write in.
 */
export function noteDisabling(
  { disabled }: { disabled?: boolean | undefined },
  compute: Compute,
  { cluster }: Pick<PatchContext, "cluster">,
  unansweredDisables = compute.status.unansweredDisables,
): Promise<Compute> {
  const { status } = compute;
  const isNoted = status.disabledByUs === true && status.unansweredDisables === unansweredDisables;
  if (disabled !== true || isNoted) return Promise.resolve(compute);
  const count = unansweredDisables === undefined ? {} : { unansweredDisables };
  const noted = { ...status, disabledByUs: true, ...count };
  const patch = guardedPatch(compute, { resourceVersion: true }).setStatus(noted);
  return patched(cluster, patch, compute, { subresource: "status" });
}

/** Lets a Compute go: takes our finalizer away and tells so. */
export async function release(
  { event, message }: Extract<Action, { kind: "release" }>,
  compute: Compute,
  cluster: ComputePatcher,
): Promise<Outcome> {
  const patch = guardedPatch(compute, { resourceVersion: true }).removeFinalizer(finalizers.endpoint);
  if (!patch.isEmpty) await cluster.patch(computeKind, compute.metadata, patch.ops());
  return { ...unchanged(compute), released: true, notes: [{ type: "Normal", reason: event, message }] };
}
