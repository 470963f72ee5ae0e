import { isJsonObject, type KubeObject } from "./objects.ts";
import { refuse } from "./refusal.ts";
import type { Resource } from "./resources.ts";

/** Whether an object belongs to a list or watch. */
export type Selector = (object: KubeObject) => boolean;

/** Reads `labelSelector` and `fieldSelector` of a query. */
export function selectorOf(resource: Resource, query: Readonly<Record<string, string>>): Selector {
  const tests = [...labelTests(query["labelSelector"] ?? ""), ...fieldTests(resource, query["fieldSelector"] ?? "")];
  return tests.length === 0 ? () => true : (object) => tests.every((test) => test(object));
}

function labelTests(selector: string): Selector[] {
  return splitOutsideParentheses(selector).map(labelTest);
}

function labelTest(requirement: string): Selector {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(requirement);
  if (set) {
    const [, key = "", operator, list = ""] = set;
    const values = new Set(list.split(",").map((value) => value.trim()));
    return (object) => {
      const value = label(object, key);
      return operator === "in" ? value !== undefined && values.has(value) : value === undefined || !values.has(value);
    };
  }
  const equality = /^([^!=]+)(==|=|!=)(.*)$/.exec(requirement);
  if (equality) {
    const [, key = "", operator, wanted = ""] = equality;
    return (object) => (label(object, key.trim()) === wanted.trim()) === (operator !== "!=");
  }
  if (requirement.startsWith("!")) return (object) => label(object, requirement.slice(1).trim()) === undefined;
  return (object) => label(object, requirement) !== undefined;
}

function label(object: KubeObject, key: string): string | undefined {
  return object.metadata.labels?.[key];
}

function fieldTests(resource: Resource, selector: string): Selector[] {
  return splitOutsideParentheses(selector).map((requirement) => {
    const [, field = "", operator, value = ""] = /^([^!=]+)(==|=|!=)(.*)$/.exec(requirement) ?? [];
    if (!["metadata.name", "metadata.namespace", ...resource.selectable].includes(field)) {
      throw refuse.bad(`field label not supported: ${field}`);
    }
    const path = field.split(".");
    return (object) => (memberAt(object, path) === value) === (operator !== "!=");
  });
}

function memberAt(object: KubeObject, path: readonly string[]): string {
  let value: unknown = object;
  for (const part of path) value = isJsonObject(value) ? value[part] : undefined;
  return typeof value === "string" ? value : "";
}

function splitOutsideParentheses(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
