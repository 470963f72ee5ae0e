import type { KubeObject, ObjectMeta, ResourceKind } from "../resources/object.ts";

export type { KubeObject, ObjectMeta, OwnerReference, ResourceKind } from "../resources/object.ts";

/** An object to create, without what the API server adds. */
export type Draft<T extends KubeObject> = Omit<T, "metadata" | "status"> & {
  metadata: Pick<ObjectMeta, "name"> &
    Partial<Pick<ObjectMeta, "namespace" | "labels" | "annotations" | "finalizers" | "ownerReferences">>;
};

/** One object of a kind; `namespace` is required if the kind is namespaced. */
export interface ObjectRef {
  namespace?: string | undefined;
  name: string;
}

export function apiVersionOf(kind: Pick<ResourceKind, "group" | "version">): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/**
 * Path of a collection, an object or its subresource. Without a namespace, a namespaced kind is addressed cluster-wide.
 */
export function pathOf(
  kind: Omit<ResourceKind, "objectType">,
  at: { namespace?: string | undefined; name?: string | undefined; subresource?: "status" | undefined } = {},
): string {
  const parts = kind.group === "" ? ["api", kind.version] : ["apis", kind.group, kind.version];
  if (kind.namespaced && at.namespace !== undefined) parts.push("namespaces", at.namespace);
  parts.push(kind.plural);
  if (at.name !== undefined) {
    if (kind.namespaced && at.namespace === undefined) {
      throw new Error(`${kind.kind} ${at.name} needs a namespace: the kind is namespaced`);
    }
    parts.push(at.name);
  }
  if (at.subresource !== undefined) parts.push(at.subresource);
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** An object's name in messages: `shop/primary`, or `primary` without a namespace. */
export function nameOf(object: { namespace?: string | undefined; name: string }): string {
  return object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
}

/**
 * Whether this is an object of the API server. Its other content is trusted: the API server keeps to its schemas, and a
 * caller that cannot rely on them parses.
 */
export function isObjectOf<T extends KubeObject>(kind: ResourceKind<T>, value: unknown): value is T {
  if (typeof value !== "object" || value === null || !("metadata" in value)) return false;
  if ("kind" in value && value.kind !== kind.kind) return false;
  const { metadata } = value;
  if (typeof metadata !== "object" || metadata === null || !("name" in metadata && "uid" in metadata)) return false;
  return typeof metadata.name === "string" && typeof metadata.uid === "string" && "resourceVersion" in metadata;
}
