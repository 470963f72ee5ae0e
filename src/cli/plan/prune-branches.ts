import type { ListedBranch } from "../../api/branch.ts";
import { notedUID } from "../../operator/branch/observation.ts";
import { parseBranch } from "../../operator/resources/branch.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { API_VERSION, finalizers, noteKeys } from "../../operator/resources/names.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { derivedBranchUID } from "../manifests/derived-uid.ts";
import { notedPlace } from "./branch-inventory.ts";
import type { Inventory, Project, Tracked } from "./inventory.ts";

// The operator's rules delete what a removed manifest declared: in its place stands a Branch that is being deleted,
// with the uid that the note bears. That uid is derived from fleet, namespace and name, so it proves that apply made
// the branch for them.

/** A branch that apply made for this fleet and namespace, and that no manifest declares. */
export interface UndeclaredBranch {
  listed: ListedBranch;
  /** The Branch that declared it, as `namespace/name`. */
  place: string;
  project: Project;
  /** A connection that reaches the project. */
  connectionRef: Compute["spec"]["connectionRef"];
}

/** The projects that the objects of the namespace are in, each with a connection that reaches it. */
export function usersByProject(inventory: Inventory, tracked: readonly Tracked[], namespace: string | undefined) {
  const users = [
    ...inventory.pools.map((pool) => ({ ...pool, pruned: undefined })),
    ...tracked.map(({ project, compute, pruned }) => ({ project, object: compute, pruned })),
    ...inventory.branches.all.map(({ project, object, pruned }) => ({ project, object, pruned })),
  ];
  const declared = users.filter(
    ({ object, pruned }) => pruned === undefined && object.metadata.namespace === namespace,
  );
  return new Map(declared.map(({ project, object: { spec } }) => [project, spec.connectionRef] as const));
}

/** The branches that apply made in the projects of these manifests and that none of them declares, children first. */
export function undeclaredBranches(
  inventory: Inventory,
  tracked: readonly Tracked[],
  namespace: string | undefined,
): UndeclaredBranch[] {
  const { fleetName: fleet } = inventory.scope;
  if (fleet === undefined || namespace === undefined) return [];
  const found = [...usersByProject(inventory, tracked, namespace)].flatMap(([project, connectionRef]) => {
    const all = [...(project.branchListing?.all ?? [])];
    return all.flatMap((listed): UndeclaredBranch[] => {
      const place = notedPlace(listed.note);
      if (place === undefined || listed.note?.[noteKeys.fleet] !== fleet) return [];
      const [of, name = ""] = place.split("/");
      if (of !== namespace || notedUID(listed) !== derivedBranchUID(fleet, namespace, name)) return [];
      const isKnown = inventory.branches.has(place, listed, project.id);
      return isKnown ? [] : [{ listed, place, project, connectionRef }];
    });
  });
  // Several connections may reach one project.
  const keyOf = ({ listed, project }: UndeclaredBranch) => `${project.client.account.baseURL} ${listed.id}`;
  const once = new Map(found.map((each) => [keyOf(each), each]));
  return [...once.values()].toSorted((a, b) => depthOf(b) - depthOf(a));
}

/** The length of the chain of parents; of a list that goes in a circle, the number of its branches. */
function depthOf({ listed, project: { branchListing } }: UndeclaredBranch): number {
  const above = new Set<ListedBranch>();
  for (let one: ListedBranch | undefined = listed; one !== undefined && !above.has(one); ) {
    above.add(one);
    one = branchListing?.byID(one.parent_id);
  }
  return above.size;
}

/** Tracks branches that no manifest declares as Branches that are being deleted. */
export function trackPrunedBranches(undeclared: readonly UndeclaredBranch[], inventory: Inventory, clock: Clock): void {
  for (const { listed, place, project, connectionRef } of undeclared) {
    const [namespace, name] = place.split("/");
    const parsed = parseBranch({
      apiVersion: API_VERSION,
      kind: "Branch",
      metadata: {
        name,
        namespace,
        uid: notedUID(listed),
        resourceVersion: "",
        deletionTimestamp: new Date(clock.now()).toISOString(),
        finalizers: [finalizers.branch],
      },
      spec: {
        connectionRef,
        projectID: project.id,
        branchName: listed.name,
        expiry: { never: true },
      },
      status: { branchID: listed.id },
    });
    if (!parsed.ok) continue;
    const added = inventory.trackBranch(parsed.value, project.client.account, project.connection);
    added.pruned = `apply created it for Branch ${place}, which is not declared any more; its data and computes are deleted.`;
  }
}
