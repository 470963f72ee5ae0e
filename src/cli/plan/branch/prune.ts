import type { ListedBranch } from "../../../api/branch.ts";
import { notedUID } from "../../../operator/branch/observation.ts";
import { parseBranch } from "../../../operator/resources/branch.ts";
import type { Compute } from "../../../operator/resources/compute.ts";
import { noteKeys } from "../../../operator/resources/names.ts";
import { derivedBranchUID } from "../../manifests/derived-uid.ts";
import type { Inventory } from "../inventory.ts";
import { removedObject, usersByProject } from "../prune.ts";
import type { Project } from "../tracked.ts";
import { isClaimed } from "./observe.ts";

/** A branch that apply made for this fleet and namespace, and that no manifest declares. */
export interface UndeclaredBranch {
  listed: ListedBranch;
  /** The Branch that declared it, as `namespace/name`. */
  place: string;
  project: Project;
  /** A connection that reaches the project. */
  connectionRef: Compute["spec"]["connectionRef"];
}

/** The branches that apply made in the projects of these manifests and that none of them declares, children first. */
export function undeclaredBranches(inventory: Inventory, namespace: string | undefined): UndeclaredBranch[] {
  const { fleetName: fleet } = inventory.scope;
  if (fleet === undefined || namespace === undefined) return [];
  const found = [...usersByProject(inventory, namespace)].flatMap(([project, connectionRef]) => {
    const all = [...(project.branchListing?.all ?? [])];
    return all.flatMap((listed): UndeclaredBranch[] => {
      const place = notedPlace(listed.note);
      if (place === undefined || listed.note?.[noteKeys.fleet] !== fleet) return [];
      const [of, name = ""] = place.split("/");
      if (of !== namespace || notedUID(listed) !== derivedBranchUID(fleet, namespace, name)) return [];
      const isKnown = isClaimed(place, listed, project.id, inventory);
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
export function trackPrunedBranches(undeclared: readonly UndeclaredBranch[], inventory: Inventory): void {
  const now = new Date(inventory.options.clock.now()).toISOString();
  for (const { listed, place, project, connectionRef } of undeclared) {
    const [namespace, name] = place.split("/");
    const parsed = parseBranch({
      ...removedObject("Branch", { name, namespace, uid: notedUID(listed) }, now),
      spec: {
        connectionRef,
        projectID: project.id,
        branchName: listed.name,
        expiry: { never: true },
      },
      status: { branchID: listed.id },
    });
    if (!parsed.ok) continue;
    const { client, connection } = project;
    inventory.trackBranch(parsed.value, {
      account: client.account,
      connection,
    }).pruned = `apply created it for Branch ${place}, which is not declared any more; its data and computes are deleted.`;
  }
}

/** The object of the Branch that a note says made a branch, as `namespace/name`. */
function notedPlace(note: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const place = note?.[noteKeys.object];
  return typeof place === "string" ? place : undefined;
}
