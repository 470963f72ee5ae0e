import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { kubectl } from "../../control-plane/kubectl.ts";
import type { CountedRequest } from "../../support/counting-proxy.ts";

/** How often something happened, by its name. */
export type Counts = Readonly<Record<string, number>>;

/** Calls of the service by method and route, refused writes apart, e.g. `POST /projects/{p}/endpoints 423`. */
export function callsByRoute(requests: readonly CountedRequest[]): Counts {
  const counts = new Map<string, number>();
  for (const { method, path, status } of requests) {
    const [plain = ""] = path.replace("/api/v2", "").split("?");
    const route = plain
      .replace(/^\/projects\/[^/]+/, "/projects/{p}")
      .replace(/\/endpoints\/[^/]+/, "/endpoints/{e}")
      .replace(/\/operations\/[^/]+/, "/operations/{o}");
    const refused = method !== "GET" && status !== undefined && status >= 400 ? ` ${status}` : "";
    const name = `${method} ${route}${refused}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

const resources = "computes|serviceconnections|computepools|secrets|events|leases";

/** Requests that the API server has answered so far, by verb and resource; without the creation of the Computes. */
export async function apiRequests({ admin }: ControlPlane): Promise<Counts> {
  const text = await kubectl(["get", "--raw", "/metrics"], admin);
  const counts = new Map<string, number>();
  for (const [, labels = "", value] of text.matchAll(/^apiserver_request_total\{([^}]*)\} (\S+)$/gm)) {
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const [verb, resource, subresource] = [label("verb"), label("resource"), label("subresource")];
    if (!new RegExp(`^(${resources})$`).test(resource) || (verb === "POST" && resource === "computes")) continue;
    const name = `${verb} ${resource}${subresource === "" ? "" : `/${subresource}`}`;
    counts.set(name, (counts.get(name) ?? 0) + Number(value));
  }
  return Object.fromEntries(counts);
}

export function since(before: Counts, after: Counts): Counts {
  const counts = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

export function sum(counts: Counts, which: (name: string) => boolean = () => true): number {
  return Object.entries(counts).reduce((total, [name, count]) => total + (which(name) ? count : 0), 0);
}
