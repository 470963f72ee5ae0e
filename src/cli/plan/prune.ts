import { findLinked } from "../../operator/branch/observation.ts";
import { ownershipOf } from "../../operator/claims/ownership.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { API_VERSION, finalizers } from "../../operator/resources/names.ts";
import { isDerivedUID } from "../manifests/derived-uid.ts";
import type { Inventory } from "./inventory.ts";
import type { Project, Tracked } from "./tracked.ts";

// The operator's rules delete what a removed manifest declared: in its place stands an object that is being deleted,
// with the uid that the endpoint's signature or the branch's note bears. That uid is derived from the place of the
// object, so it proves that apply made the endpoint or branch, and for which namespace.

/** The projects that the objects of the namespace are in, each with a connection that reaches it. */
export function usersByProject(
  { pools, tracked }: Inventory,
  namespace: string | undefined,
): Map<Project, Compute["spec"]["connectionRef"]> {
  const planned: readonly Tracked[] = [...tracked.Compute, ...tracked.Branch];
  const users = [...pools, ...planned.filter(({ pruned }) => pruned === undefined)];
  const declared = users.filter(({ object }) => object.metadata.namespace === namespace);
  return new Map(declared.map(({ project, object: { spec } }) => [project, spec.connectionRef] as const));
}

const finalizerOf = { Compute: finalizers.endpoint, Branch: finalizers.branch } as const;

/** An object whose manifest was removed, without spec and status, as it would stand in its cluster. */
export function removedObject(
  kind: Tracked["kind"],
  identity: { name: string | undefined; namespace: string | undefined; uid: string | undefined },
  deletionTimestamp: string,
) {
  const metadata = { ...identity, resourceVersion: "", deletionTimestamp, finalizers: [finalizerOf[kind]] };
  return { apiVersion: API_VERSION, kind, metadata };
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
  { tracked }: Inventory,
  namespace: string | undefined,
  most: number | undefined,
): string | undefined {
  const counts = [countOf("computes", tracked.Compute, namespace), countOf("branches", tracked.Branch, namespace)];
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

function countOf(what: Count["what"], tracked: readonly Tracked[], namespace: string | undefined): Count {
  const own = tracked.filter((each) => {
    const { namespace: of, uid } = each.object.metadata;
    return of === namespace && isDerivedUID(uid) && isMade(each);
  });
  return { what, own: own.length, deleted: own.filter(({ pruned }) => pruned !== undefined).length };
}

/** True if the service lists an endpoint of the Compute, or a branch with the note of the Branch. */
function isMade({ kind, object, project: { listing, branchListing } }: Tracked): boolean {
  switch (kind) {
    case "Compute":
      return listing?.kind === "listed" && ownershipOf(object, listing.index).link !== undefined;
    case "Branch":
      return branchListing !== undefined && findLinked(object, branchListing)?.by === "note";
  }
}
