import type { Endpoint } from "../../api/endpoint.ts";
import { keyOf, signatureIn } from "../../operator/resources/signature.ts";
import { isDerivedUID } from "../manifests/derived-uid.ts";
import type { Inventory } from "./inventory.ts";

/** An endpoint of a fleet whose uid no Compute has. */
export interface Orphan {
  endpoint: string;
  project: string;
  branch: string;
  type: string;
  fleet: string;
  madeBy: "operator" | "apply";
}

/**
 * The orphans in the projects of the manifests, sorted by id. Only the cluster shows which uids its Computes have.
 * Without `--fleet` the fleets count whose signatures Computes of the cluster bear. Where not all namespaces could be
 * read, the keys of the Computes there tell which endpoints are of those namespaces.
 */
export function orphansIn(inventory: Inventory, isPartial: boolean): Orphan[] {
  // A project is listed through each connection that leads to it.
  const listed = new Map<string, { project: string; endpoint: Endpoint }>();
  for (const { id: project, client, listing } of inventory.projects) {
    for (const endpoint of listing?.kind === "listed" ? listing.endpoints : [])
      listed.set(`${client.account.baseURL} ${endpoint.id}`, { project, endpoint });
  }
  const all = [...listed.values()];
  const fleets = fleetsOf(
    inventory,
    all.map(({ endpoint }) => endpoint),
  );
  const keys = new Set(isPartial ? inventory.computes.map(keyOf) : []);
  return all
    .flatMap(({ project, endpoint: { id, name, branch_id: branch, type } }): Orphan[] => {
      const { fleet, key = "", uid = "" } = signatureIn(name) ?? {};
      if (fleet === undefined || !fleets.has(fleet) || inventory.has(uid)) return [];
      if (isPartial && !keys.has(key)) return [];
      return [{ endpoint: id, project, branch, type, fleet, madeBy: isDerivedUID(uid) ? "apply" : "operator" }];
    })
    .toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
}

function fleetsOf(inventory: Inventory, endpoints: readonly Endpoint[]): ReadonlySet<string> {
  const { fleet: given } = inventory.scope;
  if (given !== undefined) return new Set([given]);
  return new Set(
    endpoints.flatMap(({ name }) => {
      const { fleet, uid = "" } = signatureIn(name) ?? {};
      const isOfCluster = !isDerivedUID(uid) && inventory.has(uid);
      return fleet !== undefined && isOfCluster ? [fleet] : [];
    }),
  );
}
