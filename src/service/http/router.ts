export interface Match<R> {
  route: R;
  params: Readonly<Record<string, string>>;
}

/** Finds the route of a request by method and path; if several match, the one with more literal parts at the front. */
export class Router<R extends { method: string; path: string }> {
  readonly #routes: readonly { route: R; parts: readonly string[] }[];

  constructor(routes: readonly R[]) {
    this.#routes = routes
      .map((route) => ({ route, parts: route.path.split("/") }))
      .toSorted((one, other) => compare(specificity(one.parts), specificity(other.parts)));
  }

  /** A path that exists only with other methods is no route, as in the public service. */
  match(method: string, path: string): Match<R> | undefined {
    const given = path.split("/");
    for (const { route, parts } of this.#routes) {
      const params = route.method === method ? matchParts(parts, given) : undefined;
      if (params) return { route, params };
    }
    return undefined;
  }
}

/** `0` for each literal part of a template and `1` for each parameter: the smaller of two matching ones wins. */
function specificity(parts: readonly string[]): string {
  return parts.map((part) => (part.startsWith("{") ? "1" : "0")).join("");
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/**
 * The values of a template's parameters in a path; `undefined` if the path does not match. Only parameters may be
 * percent-encoded: who may call what is decided by how a path begins, so no route has two spellings.
 */
function matchParts(template: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (template.length !== given.length) return undefined;
  const values = decoded(template.map((part, index) => (part.startsWith("{") ? (given[index] ?? "") : "")));
  if (!values) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    if (part.startsWith("{")) {
      const value = values[index] ?? "";
      if (value === "") return undefined;
      params[part.slice(1, -1)] = value;
    } else if (part !== given[index]) return undefined;
  }
  return params;
}

/** The decoded parts of a path; `undefined` if a percent sign is not followed by two digits. */
export function decoded(parts: readonly string[]): string[] | undefined {
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}
