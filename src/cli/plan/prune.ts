import type { Endpoint } from "../../api/endpoint.ts";
import { findLinked } from "../../operator/branch/observation.ts";
import { adoptsPrimary, ownerOf } from "../../operator/claims/claims.ts";
import { endpointNamedBy, ownershipOf } from "../../operator/claims/ownership.ts";
import { type Compute, parseCompute } from "../../operator/resources/compute.ts";
import { API_VERSION, annotations, finalizers } from "../../operator/resources/names.ts";
import { signatureIn, uidOfMarker } from "../../operator/resources/signature.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { derivedUID, derivedUIDBefore, isDerivedIn, isDerivedUID } from "../manifests/derived-uid.ts";
import { namedFor } from "./branches.ts";
import type { Inventory, Project, Tracked } from "./inventory.ts";
import { usersByProject } from "./prune-branches.ts";

// The operator's rules delete what a removed manifest declared: in its place stands a Compute that is being deleted,
// with the uid that the signature bears. That uid proves that apply made the endpoint, and for which namespace.

/**
 * Tracks what `--prune` deletes: made by apply for this fleet and namespace, in a project of its Computes or Branches
 * here. `leaving`: branches that are deleted, and their endpoints with them.
 */
export function trackPruned(
  inventory: Inventory,
  tracked: readonly Tracked[],
  namespace: string | undefined,
  { clock, leaving }: { clock: Clock; leaving: ReadonlySet<string> },
): Tracked[] {
  const places = usersByProject(inventory, tracked, namespace);
  const names = new Set(
    inventory.computes.flatMap(({ metadata }) => {
      const place = [metadata.namespace ?? "", metadata.name] as const;
      return [derivedUID(...place), derivedUIDBefore(...place)];
    }),
  );
  const added: Tracked[] = [];
  for (const [project, connectionRef] of places) {
    const place = { namespace, projectID: project.id, connectionRef, through: project.client.through };
    // A list has no order of its own, and the plan after a person's answer must be the plan before it.
    const unowned = unownedIn(project, place, inventory)
      .filter(({ branch_id }) => !leaving.has(branch_id))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const byUID = Map.groupBy(unowned, ({ name }) => uidOfMarker(name) ?? "");
    for (const [uid, endpoints] of byUID) {
      // A Compute of this name exists: the endpoint may still become its own.
      if (names.has(uid) || inventory.has(uid)) continue;
      const compute = removed(endpoints, uid, place, clock.now());
      if (compute === undefined) continue;
      const { client, connection } = project;
      const ids = endpoints.map(({ id }) => id);
      const pruned = `apply created it for a Compute of namespace ${namespace ?? ""} that is not declared any more: ${ids.join(", ")}.`;
      const one = inventory.track(compute, client.account, connection);
      one.pruned = pruned;
      added.push(one);
    }
  }
  return added;
}

/** The manifests' place in a project, as a Compute that is removed had it. */
interface PrunePlace {
  namespace: string | undefined;
  projectID: string;
  connectionRef: Compute["spec"]["connectionRef"];
  /** The account whose list shows the endpoints. */
  through: string;
}

/** The endpoints of the project that apply made for the namespace, and that no Compute has or adopts. */
function unownedIn(project: Project, place: PrunePlace, inventory: Inventory): Endpoint[] {
  if (project.listing?.kind !== "listed") return [];
  const { index } = project.listing;
  return index.all.filter((endpoint) => {
    const { uid, fleet } = signatureIn(endpoint.name) ?? {};
    if (uid === undefined || !isDerivedIn(place.namespace ?? "", uid)) return false;
    if (fleet === undefined || fleet !== inventory.scope.fleet) return false;
    const inTheirPlace = removed([endpoint], uid, place, 0);
    if (inTheirPlace === undefined) return false;
    const claimants = inventory.claimantsOf(inTheirPlace);
    const isWanted = (each: Compute) =>
      endpointNamedBy(each) === endpoint.id || adoptsByBranchName(each, endpoint, project, inventory);
    return !claimants.inProject().some(isWanted) && ownerOf(endpoint, claimants, index) === undefined;
  });
}

/** True if the Compute may adopt the primary of a branch that it names: `ownerOf` knows only a branch with an id. */
function adoptsByBranchName(compute: Compute, endpoint: Endpoint, project: Project, { branches }: Inventory): boolean {
  const { named } = namedFor(compute, project, branches);
  if (named === undefined || !adoptsPrimary(compute, endpoint)) return false;
  return named.kind !== "listed" || named.ids.includes(endpoint.branch_id);
}

/** Deletions that need no `--max-deletes`. */
const mostDeletes = 5;

/** Objects that apply made for the namespace, and the number of them that is deleted. */
interface Count {
  what: "branches" | "computes";
  own: number;
  deleted: number;
}

/** Reason why a plan deletes more than `--prune` may; `undefined`: it does not. */
export function tooManyDeletes(
  inventory: Inventory,
  tracked: readonly Tracked[],
  namespace: string | undefined,
  most: number | undefined,
): string | undefined {
  const counts = [ownComputes(tracked, namespace), ownBranches(inventory, namespace)];
  const many = counts.filter(({ deleted }) => deleted > 0);
  const all = counts.reduce((sum, { deleted }) => sum + deleted, 0);
  const isTooMany =
    most === undefined
      ? all > mostDeletes || many.some(({ own, deleted }) => deleted > Math.floor(own / 2))
      : all > most;
  if (!isTooMany) return undefined;
  const limit =
    most === undefined
      ? `${many.map(({ what, own, deleted }) => `${deleted} of ${own} ${what}`).join(" and ")} of namespace ${namespace ?? ""} would be deleted, and without --max-deletes at most ${mostDeletes} and at most half are`
      : `${many.map(({ what, deleted }) => `${deleted} ${what}`).join(" and ")} would be deleted, and --max-deletes is ${most}`;
  return `${limit}; nothing was sent. If all of them are meant, set --max-deletes ${all}`;
}

function ownComputes(tracked: readonly Tracked[], namespace: string | undefined): Count {
  const own = tracked.filter(({ compute, project: { listing } }) => {
    const { metadata } = compute;
    if (metadata.namespace !== namespace || !isDerivedUID(metadata.uid)) return false;
    return listing?.kind === "listed" && ownershipOf(compute, listing.index).link !== undefined;
  });
  return { what: "computes", own: own.length, deleted: own.filter(({ pruned }) => pruned !== undefined).length };
}

function ownBranches({ branches }: Inventory, namespace: string | undefined): Count {
  const own = branches.all.filter(({ object, project }) => {
    const { metadata } = object;
    if (metadata.namespace !== namespace || !isDerivedUID(metadata.uid)) return false;
    const { branchListing } = project;
    return branchListing !== undefined && findLinked(object, branchListing)?.by === "note";
  });
  return { what: "branches", own: own.length, deleted: own.filter(({ pruned }) => pruned !== undefined).length };
}

function removed([first]: readonly Endpoint[], uid: string, place: PrunePlace, now: number): Compute | undefined {
  if (first === undefined) return undefined;
  const { id, branch_id: branchID, type } = first;
  const { connectionRef, projectID, namespace, through: observedThrough } = place;
  const deletionTimestamp = new Date(now).toISOString();
  const ready = {
    type: "Ready",
    status: "False",
    reason: "Deleting",
    message: "",
    lastTransitionTime: deletionTimestamp,
  };
  const parsed = parseCompute({
    apiVersion: API_VERSION,
    kind: "Compute",
    metadata: {
      name: id,
      namespace,
      uid,
      resourceVersion: "",
      deletionTimestamp,
      finalizers: [finalizers.endpoint],
      annotations: { [annotations.endpointID]: id },
    },
    spec: { connectionRef, projectID, branchID, type },
    // A status without conditions counts as wiped: the deletion would wait a settle time for a create that none sent.
    // Without the account a list that lacks the endpoint would not prove it gone.
    status: { conditions: [ready], observedThrough },
  });
  return parsed.ok ? parsed.value : undefined;
}
