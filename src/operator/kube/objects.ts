import type { KubeObject, ObjectMeta, ResourceKind } from "../objects/object.ts";
import { asRecord } from "../objects/record.ts";
import type { Logger } from "../runtime/log.ts";

export type { KubeObject, ObjectMeta, OwnerReference, ResourceKind } from "../objects/object.ts";

/** An object to create, without what the API server adds. With `generateName`, each request makes another object. */
export type Draft<T extends KubeObject> = Omit<T, "metadata" | "status"> & {
  metadata: (Pick<ObjectMeta, "name"> | { name?: undefined; generateName: string }) &
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
 * Type guard for an object of the API server. Its other content is trusted: the API server keeps to its schemas, and a
 * caller that cannot rely on them parses.
 */
export function isObjectOf<T extends KubeObject>(kind: ResourceKind<T>, value: unknown): value is T {
  if (typeof value !== "object" || value === null || !("metadata" in value)) return false;
  if ("kind" in value && value.kind !== kind.kind) return false;
  const { metadata } = value;
  if (typeof metadata !== "object" || metadata === null || !("name" in metadata && "uid" in metadata)) return false;
  return typeof metadata.name === "string" && typeof metadata.uid === "string" && "resourceVersion" in metadata;
}

/** The object; `undefined` if it cannot be read, which is logged. One invalid object never stops the others. */
export function readObject<T extends KubeObject>(
  { kind, parse, log }: { kind: ResourceKind<T>; parse?: (raw: unknown) => T | undefined; log: Logger },
  raw: unknown,
): T | undefined {
  let problem: unknown;
  try {
    const object = isObjectOf(kind, raw) ? whole(kind, raw) : undefined;
    const parsed = object === undefined || parse === undefined ? object : parse(object);
    if (parsed !== undefined) return lean(parsed);
  } catch (error) {
    problem = error;
  }
  log.warn({ kind: kind.kind, object: nameIn(raw), error: problem }, "Skipped an object that cannot be read");
  return undefined;
}

/** The annotation in which kubectl keeps what it applied: it removes the fields that a manifest no longer has. */
export const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** Without what nothing here reads, and what can be most of an object: its field managers, and kubectl's copy of it. */
function lean<T extends KubeObject>(object: T): T {
  const { managedFields, ...metadata }: ObjectMeta & { managedFields?: unknown } = object.metadata;
  const { [lastApplied]: copy, ...annotations } = metadata.annotations ?? {};
  if (managedFields === undefined && copy === undefined) return object;
  // Empty annotations stay: a patch that adds the first one would replace those that are left out here.
  return { ...object, metadata: metadata.annotations === undefined ? metadata : { ...metadata, annotations } };
}

/** The uid of a raw object; no object's uid if it has none. */
export function uidIn(raw: unknown): string {
  return String(metadataOf(raw).uid);
}

/** The version of an object or bookmark, if it has one. */
export function versionIn(raw: unknown): string | undefined {
  const { resourceVersion } = metadataOf(raw);
  return typeof resourceVersion === "string" && resourceVersion !== "" ? resourceVersion : undefined;
}

/** The API server omits kind and version in list items of its own kinds. */
function whole<T extends KubeObject>(kind: ResourceKind<T>, object: T): T {
  return Object.hasOwn(object, "kind") ? object : { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

function metadataOf(raw: unknown): Record<string, unknown> {
  return asRecord(asRecord(raw).metadata);
}

function nameIn(raw: unknown): string {
  const { namespace, name } = metadataOf(raw);
  return nameOf({ namespace: typeof namespace === "string" ? namespace : undefined, name: String(name) });
}
