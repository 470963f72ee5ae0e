import { asRecord } from "../resources/record.ts";
import type { Logger } from "../runtime/log.ts";
import { apiVersionOf, isObjectOf, type KubeObject, nameOf, type ObjectMeta, type ResourceKind } from "./objects.ts";

export interface ObjectReader<T extends KubeObject> {
  kind: ResourceKind<T>;
  log: Logger;
  /** Parses a raw object; returns `undefined` or throws if it is invalid. */
  parse?: ((raw: unknown) => T | undefined) | undefined;
}

/** The object; `undefined` if it cannot be read, which is logged. One invalid object never stops the others. */
export function readObject<T extends KubeObject>(reader: ObjectReader<T>, raw: unknown): T | undefined {
  const { kind, parse, log } = reader;
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

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

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
