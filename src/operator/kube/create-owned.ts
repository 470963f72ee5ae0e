import type { ClusterClient } from "./client.ts";
import { isAlreadyExists } from "./errors.ts";
import { apiVersionOf, type Draft, type KubeObject, type ResourceKind } from "./objects.ts";

/** The object that owns and controls another one. */
export interface Owner {
  kind: ResourceKind;
  object: Pick<KubeObject, "metadata">;
  /** The owner stays until the garbage collector has deleted what it owns. */
  isBlocked: boolean;
}

/** The reference to an owner, as the object that it owns carries it. */
export function ownerReference({ kind, object: { metadata }, isBlocked }: Owner) {
  const { name, uid } = metadata;
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: isBlocked,
  };
}

/** Creates an object with its owner; `undefined` if the name is taken, and the watch will deliver what has it. */
export async function createOwned<T extends KubeObject>(
  cluster: ClusterClient,
  kind: ResourceKind<T>,
  draft: Draft<T>,
  owner: Owner,
): Promise<T | undefined> {
  const ownerReferences = [ownerReference(owner)];
  try {
    return await cluster.create(kind, { ...draft, metadata: { ...draft.metadata, ownerReferences } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return undefined;
  }
}
