import { copyJson, equalJson, isJsonObject, type JsonObject } from "./objects.ts";

/** Drops what a structural schema does not name and fills in its defaults, in place, as the API server does. */
export function pruneAndDefault(schema: JsonObject, object: JsonObject): void {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  for (const key of Object.keys(object)) {
    if (key !== "apiVersion" && key !== "kind" && key !== "metadata" && !(key in properties)) delete object[key];
  }
  defaultProperties(properties, object);
}

function defaultProperties(properties: JsonObject, object: JsonObject): void {
  for (const [key, schema] of Object.entries(properties)) {
    if (key === "apiVersion" || key === "kind" || key === "metadata" || !isJsonObject(schema)) continue;
    if (object[key] === null && schema["nullable"] !== true && "default" in schema) delete object[key];
    if (object[key] === undefined && "default" in schema) object[key] = copyJson(schema["default"]);
    const value = object[key];
    if (value !== undefined) visit(schema, value);
  }
}

function visit(schema: JsonObject, value: unknown): void {
  if (Array.isArray(value)) {
    if (isJsonObject(schema["items"])) for (const item of value) visit(schema["items"], item);
    return;
  }
  if (!isJsonObject(value)) return;
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const rest = schema["additionalProperties"];
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true || rest === true || isJsonObject(rest);
  for (const key of Object.keys(value)) {
    if (key in properties) continue;
    if (!open) delete value[key];
    else if (isJsonObject(rest)) visit(rest, value[key]);
  }
  defaultProperties(properties, value);
}

/** What an object breaks of its schema, as `path: what is wrong`: OpenAPI's rules, not the CEL ones. */
export function violations(schema: JsonObject, value: unknown, path = ""): string[] {
  const found: string[] = [];
  collect(schema, value, path, found);
  return found;
}

function collect(schema: JsonObject, value: unknown, path: string, found: string[]): void {
  const typeError = wrongType(schema, value);
  if (typeError !== undefined) {
    found.push(`${path}: Invalid value: ${typeError}`);
    return;
  }
  checkScalar(schema, value, path, found);
  if (isJsonObject(value)) checkObject(schema, value, path, found);
  if (Array.isArray(value)) checkArray(schema, value, path, found);
  checkCombined(schema, value, path, found);
}

function wrongType(schema: JsonObject, value: unknown): string | undefined {
  if (value === null) {
    return schema["nullable"] === true || schema["type"] === undefined ? undefined : "must not be null";
  }
  if (schema["x-kubernetes-int-or-string"] === true) return undefined;
  switch (schema["type"]) {
    case "string":
      return typeof value === "string" ? undefined : "must be of type string";
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be of type boolean";
    case "number":
      return typeof value === "number" ? undefined : "must be of type number";
    case "integer":
      return Number.isInteger(value) ? undefined : "must be of type integer";
    case "array":
      return Array.isArray(value) ? undefined : "must be of type array";
    case "object":
      return isJsonObject(value) ? undefined : "must be of type object";
    default:
      return undefined;
  }
}

function checkScalar(schema: JsonObject, value: unknown, path: string, found: string[]): void {
  const { enum: allowed, pattern } = schema;
  if (Array.isArray(allowed) && value !== null && !allowed.some((item) => equalJson(item, value))) {
    found.push(`${path}: Unsupported value: ${JSON.stringify(value)}: supported values: ${allowed.join(", ")}`);
  }
  if (typeof value === "string") {
    if (typeof pattern === "string" && !compiled(pattern).test(value)) found.push(`${path}: should match '${pattern}'`);
    if ("minLength" in schema || "maxLength" in schema) {
      checkBounds(schema, "minLength", "maxLength", Array.from(value).length, path, found);
    }
  }
  if (typeof value === "number") checkBounds(schema, "minimum", "maximum", value, path, found);
}

function checkObject(schema: JsonObject, value: JsonObject, path: string, found: string[]): void {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const rest = schema["additionalProperties"];
  const below = (key: string) => (path === "" ? key : `${path}.${key}`);
  for (const key of required) {
    if (typeof key === "string" && value[key] === undefined) found.push(`${below(key)}: Required value`);
  }
  const keys = Object.keys(value);
  for (const key of keys) {
    if (path === "" && key === "metadata") continue;
    const property = properties[key] ?? rest;
    if (isJsonObject(property)) collect(property, value[key], below(key), found);
  }
  checkBounds(schema, "minProperties", "maxProperties", keys.length, path, found);
}

function checkArray(schema: JsonObject, value: unknown[], path: string, found: string[]): void {
  const { items } = schema;
  if (isJsonObject(items)) {
    for (const [index, item] of value.entries()) collect(items, item, `${path}[${index}]`, found);
  }
  checkBounds(schema, "minItems", "maxItems", value.length, path, found);
}

function checkCombined(schema: JsonObject, value: unknown, path: string, found: string[]): void {
  const { allOf, anyOf, oneOf, not } = schema;
  const matches = (list: unknown[]) =>
    list.filter((item) => isJsonObject(item) && violations(item, value, path).length === 0).length;
  if (Array.isArray(allOf)) {
    for (const item of allOf) if (isJsonObject(item)) collect(item, value, path, found);
  }
  if (Array.isArray(anyOf) && matches(anyOf) === 0) found.push(`${path}: must validate at least one schema (anyOf)`);
  if (Array.isArray(oneOf) && matches(oneOf) !== 1)
    found.push(`${path}: must validate one and only one schema (oneOf)`);
  if (isJsonObject(not) && violations(not, value, path).length === 0)
    found.push(`${path}: must not validate the schema (not)`);
}

function checkBounds(schema: JsonObject, low: string, high: string, size: number, path: string, found: string[]): void {
  const [least, most] = [schema[low], schema[high]];
  if (typeof least === "number" && size < least) found.push(`${path}: should be at least ${least} (${low})`);
  if (typeof most === "number" && size > most) found.push(`${path}: should be at most ${most} (${high})`);
}

const patterns = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known) return known;
  const made = new RegExp(pattern, "u");
  patterns.set(pattern, made);
  return made;
}
