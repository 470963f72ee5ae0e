/** Any JSON object. */
export type JsonObject = { [key: string]: unknown };

export interface OwnerReference extends JsonObject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/** What the API server itself reads and writes of `metadata`. */
export interface Metadata extends JsonObject {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/** An object as it is stored: frozen, so that nobody who was handed it can change the cluster by accident. */
export interface KubeObject extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isStringMap(value: unknown): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === "string");
}

export function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isOwnerReferences(value: unknown): value is OwnerReference[] {
  return Array.isArray(value) && value.every((item) => isJsonObject(item) && typeof item["uid"] === "string");
}

/** Whether an object's shape may be stored; names and uids are filled in before this is asked. */
export function isKubeObject(value: JsonObject): value is KubeObject {
  const meta = value["metadata"];
  return (
    typeof value["apiVersion"] === "string" &&
    typeof value["kind"] === "string" &&
    isJsonObject(meta) &&
    typeof meta["name"] === "string" &&
    typeof meta["uid"] === "string" &&
    typeof meta["creationTimestamp"] === "string" &&
    typeof meta["resourceVersion"] === "string" &&
    (meta["labels"] === undefined || isStringMap(meta["labels"])) &&
    (meta["annotations"] === undefined || isStringMap(meta["annotations"])) &&
    (meta["finalizers"] === undefined || isStringArray(meta["finalizers"])) &&
    (meta["ownerReferences"] === undefined || isOwnerReferences(meta["ownerReferences"]))
  );
}

/** A deep copy of JSON, as after a trip over the wire: `undefined` members are left out. */
export function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => copyJson(item) ?? null);
  if (isJsonObject(value)) return copyObject(value);
  return value;
}

export function copyObject(value: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item !== undefined) copy[key] = copyJson(item);
  }
  return copy;
}

export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && equalJson(a[key], b[key]));
}

/** Freezes a whole tree in place; parts that are frozen already are shared and left alone. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}
