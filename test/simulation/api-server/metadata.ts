import { equalJson, isJsonObject, isStringArray, type JsonObject, type KubeObject } from "./objects.ts";

const known = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
];

/** The metadata of a body: only known members, without empty ones, as if decoded and encoded again. */
export function readMetadata(body: JsonObject): JsonObject {
  const given = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const metadata: JsonObject = {};
  for (const key of known) {
    const value = given[key];
    if (value !== undefined && value !== null && value !== "" && !isEmpty(value)) metadata[key] = value;
  }
  return metadata;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

/** Makes the metadata of an update whole from what is stored, and says what it may not change. */
export function mergeMetadata(metadata: JsonObject, current: KubeObject): string[] {
  const stored = current.metadata;
  for (const key of ["uid", "creationTimestamp", "namespace"]) metadata[key] ??= stored[key];
  for (const key of ["deletionTimestamp", "deletionGracePeriodSeconds"]) {
    if (stored[key] === undefined) delete metadata[key];
    else metadata[key] = stored[key];
  }
  if (stored.generation === undefined) delete metadata["generation"];
  else metadata["generation"] = stored.generation;

  const wrong = ["name", "namespace", "uid", "creationTimestamp"]
    .filter((key) => !equalJson(metadata[key], stored[key]))
    .map((key) => `metadata.${key}: Invalid value: ${JSON.stringify(metadata[key])}: field is immutable`);
  const added = newFinalizers(metadata["finalizers"], stored.finalizers ?? []);
  if (stored.deletionTimestamp !== undefined && added.length > 0) {
    wrong.push(
      `metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => `"${name}"`).join(", ")}}`,
    );
  }
  return wrong;
}

/** Refusal of an object that more than one owner controls. */
export function severalControllers({ metadata }: JsonObject): string[] {
  const given = isJsonObject(metadata) ? metadata["ownerReferences"] : undefined;
  const references = Array.isArray(given) ? given.filter(isJsonObject) : [];
  const names = references.filter(({ controller }) => controller === true).map(({ name }) => String(name));
  if (names.length < 2) return [];
  return [
    `metadata.ownerReferences: Invalid value: Only one reference can have Controller set to true. Found "true" in references for ${names.join(" and ")}`,
  ];
}

function newFinalizers(wanted: unknown, stored: readonly string[]): string[] {
  return isStringArray(wanted) ? wanted.filter((name) => !stored.includes(name)) : [];
}
