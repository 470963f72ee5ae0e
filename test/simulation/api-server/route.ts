import { refuse } from "./refusal.ts";
import type { Resource } from "./resources.ts";

/** What a path names. */
export interface Route {
  resource: Resource;
  namespace?: string;
  name?: string;
  subresource?: "status";
}

/** The names that a path is made of, whatever is served. */
export function partsOf(path: string): {
  group: string;
  version: string;
  namespace: string | undefined;
  plural: string;
  name: string | undefined;
  subresource: string | undefined;
} {
  const parts = path.slice(1).split("/").map(decodeURIComponent);
  const [root, first = "", second = ""] = parts;
  if (root !== "api" && root !== "apis") throw refuse.noRoute();
  const [group, version, rest] = root === "api" ? ["", first, parts.slice(2)] : [first, second, parts.slice(3)];
  const namespace = rest[0] === "namespaces" && rest.length > 2 ? rest[1] : undefined;
  const [plural = "", name, subresource] = namespace === undefined ? rest : rest.slice(2);
  return { group, version, namespace, plural, name, subresource };
}

/** Reads a path by the resources that are served; refuses with 404 where none fits. */
export function parseRoute(
  path: string,
  find: (group: string, version: string, plural: string) => Resource | undefined,
): Route {
  const { group, version, namespace: inNamespace, plural, name, subresource } = partsOf(path);
  const resource = find(group, version, plural);
  if (!resource || (inNamespace !== undefined && !resource.namespaced)) throw refuse.noRoute();
  if (name !== undefined && resource.namespaced && inNamespace === undefined) throw refuse.noRoute();
  if (subresource !== undefined && !(subresource === "status" && resource.statusSubresource)) throw refuse.noRoute();
  return {
    resource,
    ...(inNamespace === undefined ? {} : { namespace: inNamespace }),
    ...(name === undefined ? {} : { name }),
    ...(subresource === "status" ? { subresource } : {}),
  };
}
