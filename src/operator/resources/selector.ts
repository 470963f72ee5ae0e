/** One requirement of a label selector. */
type Requirement = (labels: Readonly<Record<string, string>>) => boolean;

/**
 * A label selector as `kubectl -l` takes it: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`, joined by
 * commas. Throws an error that names the part that cannot be read.
 */
export function labelSelector(text: string): (labels: Readonly<Record<string, string>> | undefined) => boolean {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  const requirements = text.trim() === "" ? [] : parts.map(requirement);
  return (labels = {}) => requirements.every((holds) => holds(labels));
}

const key = String.raw`([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)`;
const shapes = {
  set: new RegExp(String.raw`^${key}\s+(in|notin)\s*\(([^()]*\S[^()]*)\)$`),
  equality: new RegExp(String.raw`^${key}\s*(==|=|!=)\s*([-A-Za-z0-9_.]*)$`),
  exists: new RegExp(`^(!?)\\s*${key}$`),
};

function requirement(part: string): Requirement {
  const set = shapes.set.exec(part);
  if (set !== null) {
    const [, name = "", , operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    const within = (labels: Readonly<Record<string, string>>) =>
      Object.hasOwn(labels, name) && values.includes(labels[name] ?? "");
    return operator === "in" ? within : (labels) => !within(labels);
  }
  const equality = shapes.equality.exec(part);
  if (equality !== null) {
    const [, name = "", , operator, value = ""] = equality;
    return operator === "!=" ? (labels) => labels[name] !== value : (labels) => labels[name] === value;
  }
  const exists = shapes.exists.exec(part);
  if (exists !== null) {
    const [, not, name = ""] = exists;
    return not === "!" ? (labels) => !Object.hasOwn(labels, name) : (labels) => Object.hasOwn(labels, name);
  }
  throw new Error(
    `"${part}" is no label selector: write a=b, a!=b, a in (x,y), a notin (x,y), a or !a, joined by commas`,
  );
}
