import { readMetadata, severalControllers } from "./metadata.ts";
import { copyObject, isJsonObject, isKubeObject, type JsonObject, type KubeObject } from "./objects.ts";
import { qualified, Refusal, refuse } from "./refusal.ts";
import { apiVersionOf, customResourceDefinitions, namespaces, type Resource } from "./resources.ts";
import { pruneAndDefault, violations } from "./schema.ts";
import type { Store } from "./store.ts";

/** What a create needs besides the store. */
export interface CreateContext {
  store: Store;
  /** RFC 3339, whole seconds. */
  timestamp: () => string;
  uid: () => string;
  /** Five characters that end a generated name. */
  suffix: () => string;
}

export function create(
  context: CreateContext,
  resource: Resource,
  namespace: string | undefined,
  given: JsonObject,
): KubeObject {
  const body = copyObject(given);
  const metadata = readMetadata(body);
  body["apiVersion"] ??= apiVersionOf(resource);
  body["kind"] ??= resource.kind;
  if (body["apiVersion"] !== apiVersionOf(resource) || body["kind"] !== resource.kind) {
    throw refuse.bad(`the object is no ${resource.kind} of ${apiVersionOf(resource)}`);
  }
  if (namespace !== undefined && metadata["namespace"] !== undefined && metadata["namespace"] !== namespace) {
    throw refuse.bad("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (metadata["name"] === undefined && typeof metadata["generateName"] === "string") {
    metadata["name"] = metadata["generateName"] + context.suffix();
  }
  const name = metadata["name"];
  if (typeof name !== "string") {
    throw refuse.invalid(resource, "", ["metadata.name: Required value: name or generateName is required"]);
  }
  checkNamespace(context.store, resource, namespace, name);
  checkDefinition(context.store, resource, name);
  if (metadata["resourceVersion"] !== undefined) {
    throw new Refusal(500, undefined, "resourceVersion should not be set on objects to be created");
  }
  if (context.store.get(resource, namespace, name)) throw refuse.exists(resource, name);

  delete metadata["deletionTimestamp"];
  delete metadata["deletionGracePeriodSeconds"];
  delete metadata["generation"];
  if (namespace !== undefined) metadata["namespace"] = namespace;
  if (resource.generations) metadata["generation"] = 1;
  metadata["uid"] = context.uid();
  metadata["creationTimestamp"] = context.timestamp();
  metadata["resourceVersion"] = "";
  body["metadata"] = metadata;
  if (resource.statusSubresource) delete body["status"];
  prepare(resource, body, name);
  if (!isKubeObject(body)) throw refuse.bad(`the metadata of ${resource.kind} "${name}" is malformed`);
  const stored = context.store.put(resource, body);
  if (resource.statusSubresource && body["status"] !== undefined) defaultedOnRead.add(stored);
  return stored;
}

/**
 * Objects whose status is the default of their schema: it shows on every read, but is stored only with the next write
 * of any kind, which therefore counts as a change.
 */
export const defaultedOnRead = new WeakSet<KubeObject>();

/** Fills in and checks a body that is to be stored, by its schema or by what is built in for its kind. */
export function prepare(resource: Resource, body: JsonObject, name: string): void {
  const several = severalControllers(body);
  if (several.length > 0) throw refuse.invalid(resource, name, several);
  if (resource.schema) {
    pruneAndDefault(resource.schema, body);
    const wrong = violations(resource.schema, body);
    if (wrong.length > 0) throw refuse.invalid(resource, name, wrong);
  } else if (resource.kind === "Secret") {
    prepareSecret(body);
  } else if (resource === namespaces) {
    const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
    const labels = isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
    body["metadata"] = { ...metadata, labels: { ...labels, "kubernetes.io/metadata.name": name } };
    body["spec"] ??= { finalizers: ["kubernetes"] };
    body["status"] ??= { phase: "Active" };
  } else if (resource === customResourceDefinitions) {
    body["status"] ??= {
      conditions: ["NamesAccepted", "Established"].map((type) => ({
        type,
        status: "True",
        reason: "InitialNamesAccepted",
      })),
    };
  }
}

/** `stringData` is written as `data` and never read back. */
function prepareSecret(body: JsonObject): void {
  body["type"] ??= "Opaque";
  const clear = body["stringData"];
  if (!isJsonObject(clear)) return;
  const data: JsonObject = isJsonObject(body["data"]) ? body["data"] : {};
  for (const [key, value] of Object.entries(clear)) data[key] = Buffer.from(String(value)).toString("base64");
  body["data"] = data;
  delete body["stringData"];
}

function checkNamespace(store: Store, resource: Resource, namespace: string | undefined, name: string): void {
  if (namespace === undefined) return;
  const home = store.get(namespaces, undefined, namespace);
  if (!home) throw refuse.notFound(namespaces, namespace);
  if (home.metadata.deletionTimestamp !== undefined) {
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    throw refuse.forbidden(resource, name, why, { causes: [{ reason: "NamespaceTerminating", message: why }] });
  }
}

function checkDefinition(store: Store, resource: Resource, name: string): void {
  const definition = store.get(customResourceDefinitions, undefined, qualified(resource));
  if (definition?.metadata.deletionTimestamp !== undefined) {
    throw refuse.forbidden(resource, name, "create not allowed while custom resource definition is terminating");
  }
}
