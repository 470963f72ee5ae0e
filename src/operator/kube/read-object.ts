import { asRecord } from "../resources/record.ts";
import type { Logger } from "../runtime/log.ts";
import { apiVersionOf, isObjectOf, type KubeObject, nameOf, type ResourceKind } from "./objects.ts";

export interface ObjectReader<T extends KubeObject> {
  kind: ResourceKind<T>;
  log: Logger;
  /** Makes a typed object of what came; `undefined`, or a throw, where it is odd. */
  parse?: ((raw: unknown) => T | undefined) | undefined;
}

/** The object, or `undefined` where it cannot be read, which is logged: one odd object never stops the others. */
export function readObject<T extends KubeObject>(reader: ObjectReader<T>, raw: unknown): T | undefined {
  const { kind, parse, log } = reader;
  let problem: unknown;
  try {
    const object = isObjectOf(kind, raw) ? whole(kind, raw) : undefined;
    const parsed = object === undefined || parse === undefined ? object : parse(object);
    if (parsed !== undefined) return parsed;
  } catch (error) {
    problem = error;
  }
  log.warn({ kind: kind.kind, object: nameIn(raw), error: problem }, "Skipped an object that cannot be read");
  return undefined;
}

/** The uid of anything that came; no object's uid where it has none. */
export function uidIn(raw: unknown): string {
  return String(metadataOf(raw).uid);
}

/** The version of an object or bookmark, where it has one. */
export function versionIn(raw: unknown): string | undefined {
  const { resourceVersion } = metadataOf(raw);
  return typeof resourceVersion === "string" && resourceVersion !== "" ? resourceVersion : undefined;
}

/** The API server leaves kind and version out of the items of a list where its own kinds are concerned. */
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
