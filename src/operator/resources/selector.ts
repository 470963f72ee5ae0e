import { type NamespaceSelector, selectsLabels } from "./namespace.ts";

type Requirement = NonNullable<NamespaceSelector["matchExpressions"]>[number];

/** True for labels that it selects; `names`: the labels that it looks at, if they are known. */
export interface LabelSelector {
  (labels: Readonly<Record<string, string>> | undefined): boolean;
  readonly names?: readonly string[];
}

/**
 * A label selector as `kubectl -l` takes it: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`, joined by
 * commas. Throws an error that names the part that cannot be read.
 */
export function labelSelector(text: string): LabelSelector {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  const matchExpressions = text.trim() === "" ? [] : parts.map(requirement);
  const selects = (labels: Readonly<Record<string, string>> = {}) => selectsLabels({ matchExpressions }, labels);
  return Object.assign(selects, { names: matchExpressions.map((one) => one.key) });
}

const key = String.raw`([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)`;
const shapes = {
  set: new RegExp(String.raw`^${key}\s+(in|notin)\s*\(([^()]*\S[^()]*)\)$`),
  equality: new RegExp(String.raw`^${key}\s*(==|=|!=)\s*([-A-Za-z0-9_.]*)$`),
  exists: new RegExp(`^(!?)\\s*${key}$`),
};

function requirement(part: string): Requirement {
  const [, setKey, , operator, list = ""] = shapes.set.exec(part) ?? [];
  if (setKey !== undefined) {
    const values = list.split(",").map((value) => value.trim());
    return { key: setKey, operator: operator === "in" ? "In" : "NotIn", values };
  }
  const [, equalKey, , sign, value = ""] = shapes.equality.exec(part) ?? [];
  if (equalKey !== undefined) return { key: equalKey, operator: sign === "!=" ? "NotIn" : "In", values: [value] };
  const [, not, presentKey] = shapes.exists.exec(part) ?? [];
  if (presentKey !== undefined) return { key: presentKey, operator: not === "!" ? "DoesNotExist" : "Exists" };
  throw new Error(
    `"${part}" is no label selector: write a=b, a!=b, a in (x,y), a notin (x,y), a or !a, joined by commas`,
  );
}
