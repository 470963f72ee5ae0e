import { isJsonObject, type JsonObject, type KubeObject } from "./objects.ts";
import { refuse } from "./refusal.ts";
import { customResourceDefinitions, namespaces, type Resource } from "./resources.ts";
import type { Store } from "./store.ts";

/** Holds a definition until its last instance is gone. */
const cleanup = "customresourcecleanup.apiextensions.k8s.io";

/** How a deletion ended: gone, or marked and held by its finalizers. */
export type Deletion = { kind: "removed"; object: KubeObject } | { kind: "marked"; object: KubeObject };

/** Deletes an object, or marks it where finalizers, content or instances hold it. */
export function remove(
  store: Store,
  resource: Resource,
  current: KubeObject,
  options: unknown,
  timestamp: string,
): Deletion {
  checkPreconditions(resource, current, options);
  if (!isHeld(resource, current)) return { kind: "removed", object: store.remove(resource, current) };
  if (current.metadata.deletionTimestamp !== undefined) return { kind: "marked", object: current };
  const metadata = {
    ...current.metadata,
    deletionTimestamp: timestamp,
    ...(resource === namespaces ? {} : { deletionGracePeriodSeconds: 0 }),
    ...(resource === customResourceDefinitions ? { finalizers: [cleanup] } : {}),
    ...(current.metadata.generation === undefined ? {} : { generation: current.metadata.generation + 1 }),
  };
  const rest: JsonObject = resource === namespaces ? { ...current, status: { phase: "Terminating" } } : { ...current };
  return {
    kind: "marked",
    object: store.put(resource, { ...rest, apiVersion: current.apiVersion, kind: current.kind, metadata }),
  };
}

function isHeld(resource: Resource, object: KubeObject): boolean {
  if (resource === namespaces || resource === customResourceDefinitions) return true;
  return (object.metadata.finalizers ?? []).length > 0;
}

function checkPreconditions(resource: Resource, current: KubeObject, options: unknown): void {
  const wanted = isJsonObject(options) && isJsonObject(options["preconditions"]) ? options["preconditions"] : {};
  const { name, uid, resourceVersion } = current.metadata;
  if (typeof wanted["uid"] === "string" && wanted["uid"] !== uid) {
    throw refuse.precondition(resource, name, "UID", wanted["uid"], uid);
  }
  if (typeof wanted["resourceVersion"] === "string" && wanted["resourceVersion"] !== resourceVersion) {
    throw refuse.precondition(resource, name, "ResourceVersion", wanted["resourceVersion"], resourceVersion);
  }
}
