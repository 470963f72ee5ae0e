import { defaultedOnRead, prepare } from "./create.ts";
import { mergeMetadata, readMetadata } from "./metadata.ts";
import { copyObject, equalJson, isKubeObject, type JsonObject, type KubeObject } from "./objects.ts";
import { refuse } from "./refusal.ts";
import { namespaces, type Resource } from "./resources.ts";
import type { Store } from "./store.ts";

/** Which part of an object a write may change. */
export type Part = "object" | "status";

/**
 * Stores a whole new body for an object: the end of every PUT and PATCH. Removes the object with its last finalizer.
 */
export function update(
  store: Store,
  resource: Resource,
  part: Part,
  current: KubeObject,
  given: JsonObject,
  method: "PUT" | "PATCH",
): KubeObject {
  const name = current.metadata.name;
  const body = copyObject(given);
  const metadata = readMetadata(body);
  if (metadata["name"] !== name) {
    throw refuse.bad(`the name of the object does not match the name on the URL (${name})`);
  }
  checkPreconditions(resource, current, metadata, method);
  const wrong = mergeMetadata(metadata, current);
  body["metadata"] = metadata;
  body["apiVersion"] ??= current.apiVersion;
  body["kind"] ??= current.kind;
  const next = part === "status" ? withStatusOf(current, body) : keepStatus(resource, current, body);
  if (part === "object" && wrong.length > 0) throw refuse.invalid(resource, name, wrong);
  if (resource.kind === "Secret" && next["type"] !== undefined && next["type"] !== current["type"]) {
    throw refuse.invalid(resource, name, [`type: Invalid value: ${JSON.stringify(next["type"])}: field is immutable`]);
  }
  prepare(resource, next, name);
  if (resource.generations && changesSpec(resource, current, next)) {
    next["metadata"] = { ...metadata, generation: (current.metadata.generation ?? 0) + 1 };
  }
  if (!isKubeObject(next)) throw refuse.bad(`the metadata of ${resource.kind} "${name}" is malformed`);
  if (equalJson(next, current) && !defaultedOnRead.has(current)) return current;
  if (isReleased(resource, next)) {
    store.remove(resource, current);
    return next;
  }
  return store.put(resource, next);
}

function checkPreconditions(
  resource: Resource,
  current: KubeObject,
  metadata: JsonObject,
  method: "PUT" | "PATCH",
): void {
  const { name, uid, resourceVersion } = current.metadata;
  if (method === "PUT" && metadata["uid"] !== undefined && metadata["uid"] !== uid) {
    throw refuse.precondition(resource, name, "UID", JSON.stringify(metadata["uid"]), uid);
  }
  if (metadata["resourceVersion"] === undefined) {
    if (!resource.unconditionalUpdate) {
      throw refuse.invalid(resource, name, [
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
      ]);
    }
    metadata["resourceVersion"] = resourceVersion;
  }
  if (metadata["resourceVersion"] !== resourceVersion) throw refuse.modified(resource, name);
}

/** A write to `/status` changes nothing else. */
function withStatusOf(current: KubeObject, body: JsonObject): JsonObject {
  return withStatus({ ...current, metadata: { ...current.metadata } }, body["status"]);
}

/** A write elsewhere leaves the status as it is. */
function keepStatus(resource: Resource, current: KubeObject, body: JsonObject): JsonObject {
  if (!resource.statusSubresource) return body;
  return withStatus(body, current["status"]);
}

function withStatus(object: JsonObject, status: unknown): JsonObject {
  if (status !== undefined) return { ...object, status };
  const bare = { ...object };
  delete bare["status"];
  return bare;
}

function changesSpec(resource: Resource, current: KubeObject, next: JsonObject): boolean {
  const skip = new Set(["metadata", ...(resource.statusSubresource ? ["status"] : [])]);
  const keys = new Set([...Object.keys(current), ...Object.keys(next)]);
  return [...keys].some((key) => !skip.has(key) && !equalJson(current[key], next[key]));
}

/** Whether a deleted object has nothing left that holds it. A namespace is held by its content. */
function isReleased(resource: Resource, object: KubeObject): boolean {
  return (
    resource !== namespaces &&
    object.metadata.deletionTimestamp !== undefined &&
    (object.metadata.finalizers ?? []).length === 0
  );
}
