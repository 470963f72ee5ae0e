import { copyJson, copyObject, equalJson, isJsonObject, type JsonObject } from "./objects.ts";
import { refuse } from "./refusal.ts";

interface Operation {
  op: string;
  path: string;
  from?: unknown;
  value?: unknown;
}

/** Applies a JSON Patch (RFC 6902) as the API server does: any operation that fails refuses the whole patch. */
export function applyJsonPatch(target: JsonObject, patch: unknown): JsonObject {
  if (!Array.isArray(patch)) throw refuse.bad("the body of a JSON Patch must be an array of operations");
  const document = copyObject(target);
  for (const operation of patch) {
    if (!isOperation(operation)) throw refuse.bad("each operation of a JSON Patch needs op and path");
    apply(document, operation);
  }
  return document;
}

function isOperation(value: unknown): value is Operation {
  return isJsonObject(value) && typeof value["op"] === "string" && typeof value["path"] === "string";
}

function apply(document: JsonObject, operation: Operation): void {
  const place = locate(document, operation.path);
  switch (operation.op) {
    case "test":
      if (!holds(place, operation.value)) throw refuse.patchFailed();
      return;
    case "add":
      return add(place, copyJson(operation.value));
    case "replace":
      // A missing member of an object is added, as by the library that the API server uses.
      return set(place, copyJson(operation.value));
    case "remove":
      return remove(place);
    case "copy":
    case "move": {
      if (typeof operation.from !== "string") throw refuse.bad(`${operation.op} needs from`);
      const source = locate(document, operation.from);
      if (!exists(source)) throw refuse.patchFailed();
      const value = copyJson(read(source));
      if (operation.op === "move") remove(source);
      return add(locate(document, operation.path), value);
    }
    default:
      throw refuse.bad(`unknown JSON Patch operation ${operation.op}`);
  }
}

/** The container that a path's last part names a member of; its parents must exist. */
type Place = { in: JsonObject; key: string } | { in: unknown[]; key: string };

function locate(document: JsonObject, path: string): Place {
  if (!path.startsWith("/")) throw refuse.patchFailed();
  const parts = path
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const key = parts.pop() ?? "";
  let container: unknown = document;
  for (const part of parts) {
    if (Array.isArray(container)) container = container[indexOf(container, part)];
    else if (isJsonObject(container)) container = container[part];
  }
  if (Array.isArray(container)) return { in: container, key };
  if (isJsonObject(container)) return { in: container, key };
  throw refuse.patchFailed();
}

function indexOf(list: unknown[], part: string): number {
  if (!/^(0|[1-9][0-9]*)$/.test(part) || Number(part) >= list.length) throw refuse.patchFailed();
  return Number(part);
}

function exists(place: Place): boolean {
  if (Array.isArray(place.in)) return indexOf(place.in, place.key) >= 0;
  return Object.hasOwn(place.in, place.key);
}

function read(place: Place): unknown {
  return Array.isArray(place.in) ? place.in[indexOf(place.in, place.key)] : place.in[place.key];
}

/** A missing member passes a test for null, as in the library that the API server uses. */
function holds(place: Place, value: unknown): boolean {
  if (!Array.isArray(place.in) && !Object.hasOwn(place.in, place.key)) return value === null;
  return equalJson(read(place), value);
}

function set(place: Place, value: unknown): void {
  if (Array.isArray(place.in)) place.in[indexOf(place.in, place.key)] = value;
  else place.in[place.key] = value;
}

function add(place: Place, value: unknown): void {
  if (!Array.isArray(place.in)) place.in[place.key] = value;
  else if (place.key === "-" || place.key === String(place.in.length)) place.in.push(value);
  else place.in.splice(indexOf(place.in, place.key), 0, value);
}

function remove(place: Place): void {
  if (!exists(place)) throw refuse.patchFailed();
  if (Array.isArray(place.in)) place.in.splice(indexOf(place.in, place.key), 1);
  else delete place.in[place.key];
}
