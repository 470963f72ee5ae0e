import { refuse } from "./refusal.ts";
import type { Resource } from "./resources.ts";

/** What a path names. */
export interface Route {
  resource: Resource;
  namespace?: string;
  name?: string;
  subresource?: "status";
}

/** Reads a path by the resources that are served; refuses with 404 where none fits. */
export function parseRoute(
  path: string,
  find: (group: string, version: string, plural: string) => Resource | undefined,
): Route {
  const parts = path.slice(1).split("/").map(decodeURIComponent);
  const [root, first = "", second = ""] = parts;
  const [group, version, rest] = root === "api" ? ["", first, parts.slice(2)] : [first, second, parts.slice(3)];
  if (root !== "api" && root !== "apis") throw refuse.noRoute();

  const inNamespace = rest[0] === "namespaces" && rest.length > 2 ? rest[1] : undefined;
  const [plural = "", name, subresource] = inNamespace === undefined ? rest : rest.slice(2);
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
