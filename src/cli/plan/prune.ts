import type { Endpoint } from "../../api/endpoint.ts";
import { ownerOf } from "../../operator/compute/observe/claims.ts";
import { endpointNamedBy, ownershipOf } from "../../operator/compute/observe/ownership.ts";
import { type Compute, parseCompute } from "../../operator/resources/compute.ts";
import { API_VERSION, annotations, finalizers } from "../../operator/resources/names.ts";
import { signatureIn, uidOfMarker } from "../../operator/resources/signature.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { derivedUID, derivedUIDBefore, isDerivedIn, isDerivedUID } from "../manifests/derived-uid.ts";
import type { Inventory, Tracked } from "./inventory.ts";

// The operator's rules delete what a removed manifest declared: in its place stands a Compute that is being deleted,
// with the uid that the signature bears. That uid proves that apply made the endpoint, and for which namespace.

/** Tracks what `--prune` deletes: made by apply for this fleet and namespace, in a project of its Computes here. */
export function trackPruned(
  inventory: Inventory,
  tracked: readonly Tracked[],
  namespace: string | undefined,
  clock: Clock,
): Tracked[] {
  // One Compute for each project stands for all.
  const places = Map.groupBy(
    tracked.filter(({ compute, pruned }) => pruned === undefined && compute.metadata.namespace === namespace),
    ({ project }) => inventory.projects.indexOf(project),
  );
  const names = new Set(
    inventory.computes.flatMap(({ metadata }) => {
      const place = [metadata.namespace ?? "", metadata.name] as const;
      return [derivedUID(...place), derivedUIDBefore(...place)];
    }),
  );
  const added: Tracked[] = [];
  for (const [beside] of places.values()) {
    if (beside === undefined) continue;
    const byUID = Map.groupBy(unownedBeside(beside, inventory), ({ name }) => uidOfMarker(name) ?? "");
    for (const [uid, endpoints] of byUID) {
      // A Compute of this name exists: the endpoint may still become its own.
      if (names.has(uid) || inventory.has(uid)) continue;
      const compute = removed(endpoints, uid, beside.compute, clock.now());
      if (compute === undefined) continue;
      const { client, connection } = beside.project;
      const ids = endpoints.map(({ id }) => id).toSorted();
      const pruned = `apply created it for a Compute of namespace ${beside.compute.metadata.namespace ?? ""} that is not declared any more: ${ids.join(", ")}.`;
      const one = inventory.track(compute, client.account, connection);
      one.pruned = pruned;
      added.push(one);
    }
  }
  return added;
}

/** The endpoints of the Compute's project that apply made for its namespace, and that no Compute has or adopts. */
function unownedBeside({ compute, project }: Tracked, inventory: Inventory): Endpoint[] {
  if (project.listing?.kind !== "listed") return [];
  const { index } = project.listing;
  const claimants = inventory.claimantsOf(compute);
  const { namespace = "" } = compute.metadata;
  return index.all.filter((endpoint) => {
    const { uid, fleet } = signatureIn(endpoint.name) ?? {};
    if (uid === undefined || !isDerivedIn(namespace, uid)) return false;
    if (fleet === undefined || fleet !== inventory.beside.fleet) return false;
    if (claimants.inProject().some((each) => endpointNamedBy(each) === endpoint.id)) return false;
    return ownerOf(endpoint, claimants, index) === undefined;
  });
}

/** Deletions that need no `--max-deletes`. */
const mostDeletes = 5;

/** Why a plan deletes more than `--prune` may; `undefined`: it does not. */
export function tooManyDeletes(
  tracked: readonly Tracked[],
  namespace: string | undefined,
  most: number | undefined,
): string | undefined {
  const own = tracked.filter(({ compute, project: { listing } }) => {
    const { metadata } = compute;
    if (metadata.namespace !== namespace || !isDerivedUID(metadata.uid)) return false;
    return listing?.kind === "listed" && ownershipOf(compute, listing.index).link !== undefined;
  });
  const count = own.filter(({ pruned }) => pruned !== undefined).length;
  const allowed = most ?? Math.min(mostDeletes, Math.floor(own.length / 2));
  if (count <= allowed) return undefined;
  const limit =
    most === undefined
      ? `${count} of ${own.length} computes of namespace ${namespace ?? ""} would be deleted, and without --max-deletes at most ${mostDeletes} and at most half are`
      : `${count} computes would be deleted, and --max-deletes is ${most}`;
  return `${limit}; nothing was sent. If all of them are meant, set --max-deletes ${count}`;
}

function removed([first]: readonly Endpoint[], uid: string, beside: Compute, now: number): Compute | undefined {
  if (first === undefined) return undefined;
  const { id, branch_id: branchID, type } = first;
  const { connectionRef, projectID } = beside.spec;
  const parsed = parseCompute({
    apiVersion: API_VERSION,
    kind: "Compute",
    metadata: {
      name: id,
      namespace: beside.metadata.namespace,
      uid,
      resourceVersion: "",
      deletionTimestamp: new Date(now).toISOString(),
      finalizers: [finalizers.endpoint],
      annotations: { [annotations.endpointID]: id },
    },
    spec: { connectionRef, projectID, branchID, type },
  });
  return parsed.ok ? parsed.value : undefined;
}
