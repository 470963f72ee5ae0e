import { isRefusal, isStale } from "../kube/errors.ts";
import { type GuardedPatch, guardedPatch, type JsonPatchOperation } from "../kube/json-patch.ts";
import type { KubeObject, Parsed, ResourceKind } from "../objects/object.ts";

/** Target of the operator's patches of one kind: the API server, or an object in memory if there is no cluster. */
export interface Patcher<T extends KubeObject> {
  /** Answers with the whole object after the patch. */
  patch(
    kind: ResourceKind<T>,
    metadata: T["metadata"],
    ops: readonly JsonPatchOperation[],
    options?: { subresource?: "status" },
  ): Promise<unknown>;
}

/** A kind that the operator patches. */
export interface PatchedKind<T extends KubeObject> {
  kind: ResourceKind<T>;
  /** Reads the answer to a patch. */
  parse: (raw: unknown) => Parsed<T>;
  /** The operator's own: while an object carries it, a deletion waits for the operator. */
  finalizer: string;
}

/** A patch of exactly this version: nothing late can fit. */
export function patchOf(object: KubeObject): GuardedPatch {
  return guardedPatch(object, { resourceVersion: true });
}

/** Sends a patch and reads the answer; a patch that would change nothing is not sent. */
export async function patched<T extends KubeObject>(
  { kind, parse }: PatchedKind<T>,
  cluster: Patcher<T>,
  patch: GuardedPatch,
  object: T,
  options: { subresource?: "status" } = {},
): Promise<T> {
  if (patch.isEmpty) return object;
  const answer = parse(await cluster.patch(kind, object.metadata, patch.ops(), options));
  if (!answer.ok) throw new Error(`the API server answered with a ${kind.kind} that cannot be read: ${answer.problem}`);
  return answer.value;
}

/** Writes the whole status. */
export function withStatus<T extends KubeObject & { status: object }>(
  kind: PatchedKind<T>,
  cluster: Patcher<T>,
  status: T["status"],
  object: T,
): Promise<T> {
  return patched(kind, cluster, patchOf(object).setStatus(status), object, { subresource: "status" });
}

/** Adds the operator's finalizer if it is missing. */
export function withFinalizer<T extends KubeObject>(kind: PatchedKind<T>, cluster: Patcher<T>, object: T): Promise<T> {
  return patched(kind, cluster, patchOf(object).addFinalizer(kind.finalizer), object);
}

/** Removes the operator's finalizer, which lets the object go. `note`: true while it may have been let go. */
export async function letGo<T extends KubeObject>(
  { kind, finalizer }: PatchedKind<T>,
  cluster: Patcher<T>,
  object: T,
  note: (isReleased: boolean) => void,
): Promise<void> {
  const patch = patchOf(object).removeFinalizer(finalizer);
  // The watch may report the end of the object before the patch is answered.
  note(true);
  try {
    if (!patch.isEmpty) await cluster.patch(kind, object.metadata, patch.ops());
  } catch (error) {
    // Without a reply it may be gone all the same.
    if (isStale(error) || isRefusal(error)) note(false);
    throw error;
  }
}
