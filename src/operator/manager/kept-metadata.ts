import type { KubeObject, ObjectMeta, OwnerReference } from "../objects/object.ts";
import { annotations, GROUP, labels } from "../resources/names.ts";

/** All annotations that the operator reads or writes on its own kinds. */
const readAnnotations: ReadonlySet<string> = new Set(Object.values(annotations));

/**
 * An object of ours as the cache keeps it. Anybody who may write one may give it a quarter of a megabyte of annotations
 * and more of labels and owners, which nothing here reads.
 *
 * A map that is there stays, if empty: a patch that adds its first member would replace those that are left out. One
 * owner of another kind stays, which says that there are others. Finalizers stay all: patches name their places.
 * `keptLabels`: the only labels that are read; `undefined`: all.
 */
export function withKeptMetadata<T extends KubeObject>(object: T, keptLabels?: ReadonlySet<string>): T {
  const { metadata } = object;
  const { annotations: noted, labels: labelled, ownerReferences: owners } = metadata;
  const kept: ObjectMeta = {
    ...metadata,
    ...(noted !== undefined && { annotations: picked(noted, readAnnotations) }),
    ...(labelled !== undefined && keptLabels !== undefined && { labels: picked(labelled, keptLabels) }),
    ...(owners !== undefined && { ownerReferences: keptOwners(owners) }),
  };
  return { ...object, metadata: kept };
}

/** The labels of a Compute that are read: the selector's and the pool's; `undefined`: the selector is not known. */
export function labelsOfCompute({ names }: { names?: readonly string[] }): ReadonlySet<string> | undefined {
  return names && new Set([...names, labels.pool]);
}

function picked(map: Readonly<Record<string, string>>, names: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([name]) => names.has(name)));
}

function keptOwners(owners: readonly OwnerReference[]): OwnerReference[] {
  const isOurs = ({ apiVersion }: OwnerReference) => apiVersion.startsWith(`${GROUP}/`);
  const other = owners.find((owner) => !isOurs(owner));
  return other === undefined ? [...owners] : [...owners.filter(isOurs), other];
}
