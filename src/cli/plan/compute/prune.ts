import type { Endpoint } from "../../../api/endpoint.ts";
import { adoptsPrimary, ownerOf } from "../../../operator/claims/claims.ts";
import { endpointNamedBy } from "../../../operator/claims/ownership.ts";
import { type Compute, parseCompute } from "../../../operator/resources/compute.ts";
import { annotations } from "../../../operator/resources/names.ts";
import { signatureIn, uidInSignature } from "../../../operator/resources/signature.ts";
import { derivedUID, isDerivedIn } from "../../manifests/derived-uid.ts";
import type { Inventory } from "../inventory.ts";
import { removedObject, usersByProject } from "../prune.ts";
import type { Project } from "../tracked.ts";
import { namedFor } from "./named-branch.ts";

/**
 * Tracks the Computes that `--prune` deletes: apply made their endpoints for this fleet and namespace, in a project
 * that the manifests use there. `leaving`: the branches that are deleted with their endpoints.
 */
export function trackPrunedComputes(
  inventory: Inventory,
  namespace: string | undefined,
  leaving: ReadonlySet<string>,
): void {
  const places = usersByProject(inventory, namespace);
  const names = new Set(inventory.computes.map(({ metadata }) => derivedUID(metadata.namespace ?? "", metadata.name)));
  for (const [project, connectionRef] of places) {
    const place = { namespace, projectID: project.id, connectionRef, fingerprint: project.client.fingerprint };
    // A list has no order of its own, and the plan after a person's answer must be the plan before it.
    const unowned = unownedIn(project, place, inventory)
      .filter(({ branch_id }) => !leaving.has(branch_id))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const byUID = Map.groupBy(unowned, ({ name }) => uidInSignature(name) ?? "");
    for (const [uid, endpoints] of byUID) {
      // A Compute of this name exists: the endpoint may still become its own.
      if (names.has(uid) || inventory.has(uid)) continue;
      const compute = removed(endpoints, uid, place, inventory.options.clock.now());
      if (compute === undefined) continue;
      const { client, connection } = project;
      const ids = endpoints.map(({ id }) => id);
      const pruned = `apply created ${ids.join(", ")} for a Compute of namespace ${namespace ?? ""} that is not declared any more.`;
      inventory.trackCompute(compute, { account: client.account, connection }).pruned = pruned;
    }
  }
}

/** Namespace, project and connection of a Compute whose manifest was removed. */
interface PrunePlace {
  namespace: string | undefined;
  projectID: string;
  connectionRef: Compute["spec"]["connectionRef"];
  /** The account whose list shows the endpoints. */
  fingerprint: string;
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

/** True if the Compute may adopt the primary of a branch that it names: `ownerOf` looks at ids alone. */
function adoptsByBranchName(compute: Compute, endpoint: Endpoint, project: Project, inventory: Inventory): boolean {
  const { named } = namedFor(compute, project, inventory);
  if (named === undefined || !adoptsPrimary(compute, endpoint)) return false;
  return named.kind !== "listed" || named.ids.includes(endpoint.branch_id);
}

function removed([first]: readonly Endpoint[], uid: string, place: PrunePlace, now: number): Compute | undefined {
  if (first === undefined) return undefined;
  const { id, branch_id: branchID, type } = first;
  const { connectionRef, projectID, namespace, fingerprint: observedThrough } = place;
  const deletionTimestamp = new Date(now).toISOString();
  const ready = {
    type: "Ready",
    status: "False",
    reason: "Deleting",
    message: "",
    lastTransitionTime: deletionTimestamp,
  };
  const object = removedObject("Compute", { name: id, namespace, uid }, deletionTimestamp);
  const parsed = parseCompute({
    ...object,
    metadata: { ...object.metadata, annotations: { [annotations.endpointID]: id } },
    spec: { connectionRef, projectID, branchID, type },
    // A status without conditions counts as wiped: the deletion would wait a settle time for a create that nobody sent.
    // Without the account a list that lacks the endpoint would not prove it gone.
    status: { conditions: [ready], observedThrough },
  });
  return parsed.ok ? parsed.value : undefined;
}
