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

/** Creates an object with its owner; `undefined` if the name is taken, and the watch will deliver what has it. */
export async function createOwned<T extends KubeObject>(
  cluster: ClusterClient,
  kind: ResourceKind<T>,
  draft: Draft<T>,
  { kind: ownerKind, object, isBlocked }: Owner,
): Promise<T | undefined> {
  const { name, uid } = object.metadata;
  const owner = { apiVersion: apiVersionOf(ownerKind), kind: ownerKind.kind, name, uid };
  const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: isBlocked }];
  try {
    return await cluster.create(kind, { ...draft, metadata: { ...draft.metadata, ownerReferences } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return undefined;
  }
}
