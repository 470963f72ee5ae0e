import { nameOf } from "../../operator/kube/objects.ts";
import { type KubeObject, placeOf } from "../../operator/objects/object.ts";
import { parseBranch } from "../../operator/resources/branch.ts";
import { type Compute, namesBranch } from "../../operator/resources/compute.ts";
import { parseComputePool } from "../../operator/resources/compute-pool.ts";
import { connectionKeyOf } from "../../operator/resources/connection-user.ts";
import type { OurKind } from "../manifests/kinds.ts";
import type { Undeclared } from "../manifests/undeclared.ts";
import type { Inventory } from "./inventory.ts";
import { firstFew, refusesDeletion } from "./messages.ts";
import type { TrackedCompute } from "./tracked.ts";

/** The objects of one kind and namespace that no manifest declares; without a namespace they are of the cluster. */
export interface UndeclaredCount {
  kind: OurKind;
  namespace?: string;
  names: readonly string[];
}

/** An object of the cluster that no manifest declares, and what a tool that prunes does with it. */
export interface PrunedObject {
  kind: OurKind;
  /** `namespace/name`. */
  name: string;
  step: "delete" | "none" | "refuse";
  message: string;
}

export function countsOf(undeclared: readonly Undeclared[]): UndeclaredCount[] {
  const groups = Map.groupBy(undeclared, ({ kind, object }) => `${kind} ${object.metadata.namespace ?? ""}`);
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const { namespace } = first.object.metadata;
    const names = [first, ...others].map(({ object }) => object.metadata.name).toSorted();
    return [{ kind: first.kind, ...(namespace === undefined ? {} : { namespace }), names }];
  });
}

/** `1 Compute of namespace shop is not in these manifests: shop-old`. */
export function inWordsOf(
  { kind, namespace, names }: UndeclaredCount,
  quote: (text: string) => string = (text) => text,
): string {
  const many = names.length > 1;
  const place = namespace === undefined ? "of the cluster" : `of namespace ${namespace}`;
  return `${names.length} ${many ? pluralOf(kind) : kind} ${place} ${many ? "are" : "is"} not in these manifests: ${firstFew(names.map(quote))}`;
}

/** The fate of the objects other than Computes, which are planned, and of Computes that stay. */
export function prunedObjects(
  undeclared: readonly Undeclared[],
  inventory: Pick<Inventory, "computes">,
  tracked: readonly TrackedCompute[],
): PrunedObject[] {
  const leaving = new Set(
    tracked.filter(({ pruned }) => pruned !== undefined).map(({ object }) => object.metadata.uid),
  );
  const staying = inventory.computes.filter(({ metadata }) => !leaving.has(metadata.uid));
  return undeclared.flatMap(({ kind, object, keptBy }): PrunedObject[] => {
    const name = nameOf(object.metadata);
    if (keptBy !== undefined) return [{ kind, name, step: "none", message: `stays in the cluster: it has ${keptBy}` }];
    switch (kind) {
      case "Compute":
        return [];
      case "ComputePool":
        return [{ kind, name, ...ofPool(object) }];
      case "Branch":
        return [{ kind, name, ...(waiting(usersOfBranch(object, staying), "name") ?? ofBranch(object)) }];
      case "ServiceConnection":
      case "ClusterServiceConnection": {
        const users = staying.filter((compute) => placeOf(connectionKeyOf(compute)) === placeOf(object.metadata));
        return [{ kind, name, ...(waiting(users, "use") ?? { step: "delete", message: "no Compute uses it" }) }];
      }
    }
  });
}

/** The Computes that stay, are not the branch's own, and name it. */
function usersOfBranch(branch: KubeObject, staying: readonly Compute[]): Compute[] {
  return staying.filter(
    (compute) =>
      namesBranch(compute, branch) &&
      compute.metadata.ownerReferences?.some(({ uid }) => uid === branch.metadata.uid) !== true,
  );
}

/** A deletion that waits for Computes which stay; `undefined` if there are none. */
function waiting(users: readonly Compute[], verb: "name" | "use"): Pick<PrunedObject, "step" | "message"> | undefined {
  if (users.length === 0) return undefined;
  const names = firstFew(users.map(({ metadata }) => nameOf(metadata)));
  const message = `its deletion waits while Computes ${verb} it: ${names}. Keep its manifest, or remove those first.`;
  return { step: "refuse", message };
}

function ofPool(object: unknown): Pick<PrunedObject, "step" | "message"> {
  const pool = parseComputePool(object);
  if (pool.ok && pool.value.spec.template.deletionProtection === true) {
    return { step: "refuse", message: `spec.template.${refusesDeletion}` };
  }
  return { step: "delete", message: "its Computes are deleted with it" };
}

function pluralOf(kind: OurKind): string {
  return kind === "Branch" ? "Branches" : `${kind}s`;
}

function ofBranch(object: unknown): Pick<PrunedObject, "step" | "message"> {
  const branch = parseBranch(object);
  if (!branch.ok) return { step: "delete", message: "its branch is deleted" };
  const { spec, status } = branch.value;
  if (spec.deletionProtection === true) return { step: "refuse", message: refusesDeletion };
  const which = status.branchID === undefined ? "its branch" : `branch ${status.branchID}`;
  const isAdopted = spec.adopt !== undefined && !("former" in spec.adopt);
  const isKept = spec.deletionPolicy === "Retain" || isAdopted;
  return { step: "delete", message: isKept ? `${which} is kept` : `${which} and its data are deleted` };
}
