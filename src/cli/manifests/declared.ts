import { declaredSpec } from "../../operator/branch/owned-compute.ts";
import { type KubeObject, type ObjectMeta, placeOf } from "../../operator/objects/object.ts";
import { memberSpec, membersOf, planPool, specOf } from "../../operator/pool/plan.ts";
import { type Branch, branchKind, owningBranch } from "../../operator/resources/branch.ts";
import { type Compute, computeKind } from "../../operator/resources/compute.ts";
import { type ComputePool, memberName } from "../../operator/resources/compute-pool.ts";
import { API_VERSION } from "../../operator/resources/names.ts";
import { derivedBranchUID, derivedUID } from "./derived-uid.ts";
import type { Declared, Manifests } from "./manifests.ts";
import { asDeleted, withSpec, withUID } from "./stored.ts";

/** All Branches of the manifests, each with a uid. */
export function declaredBranches({ branches }: Manifests, fleet: string | undefined): Declared<Branch>[] {
  return branches.map((declared) => identified(declared, (...place) => derivedBranchUID(fleet, ...place)));
}

/**
 * All Computes of the manifests, those of pools and Branches included, each with a uid, sorted by namespace and name.
 *
 * The members of a pool are as the operator would make them: one that is missing is added, one with another spec gets
 * that of the template, and one that is too many is being deleted. The Compute of a Branch likewise. `problems`: a line
 * for each pool that cannot be reached, as where another Compute has the name of a member.
 */
export function declaredComputes({ computes, pools, branches }: Manifests): {
  computes: Declared<Compute>[];
  /** The pool of each member, by the member's uid. */
  poolOf: ReadonlyMap<string, ComputePool>;
  problems: string[];
} {
  const all = new Map(
    computes.map((declared) => [placeOf(declared.object.metadata), identified(declared, derivedUID)]),
  );
  const problems: string[] = [];
  const poolOf = new Map<string, ComputePool>();
  for (const { object: pool, where } of pools) {
    const { namespace = "" } = pool.metadata;
    const label = `ComputePool ${placeOf(pool.metadata)}`;
    const standing = [...all.values()].map(({ object }) => object);
    const members = pool.metadata.uid === "" ? [] : membersOf(pool, standing);
    const plan = planPool(pool, members, (member) => all.get(placeOf({ namespace, name: member }))?.object);
    if (plan.blocked !== undefined) problems.push(`${where}: ${label}: ${plan.blocked}`);
    for (const index of plan.create) {
      const member = neverStored({ namespace, name: memberName(pool, index) }, memberSpec(pool, index));
      const made = identified({ object: member, where }, derivedUID);
      poolOf.set(made.object.metadata.uid, pool);
      all.set(placeOf(made.object.metadata), made);
    }
    for (const member of plan.update) {
      const object = withSpec(member.compute, specOf(pool, member));
      all.set(placeOf(object.metadata), { object, where });
    }
    for (const { compute } of members) poolOf.set(compute.metadata.uid, pool);
    for (const { compute } of plan.remove) all.set(placeOf(compute.metadata), { object: asDeleted(compute), where });
  }
  for (const { object: branch, where } of branches) {
    const place = placeOf(branch.metadata);
    const owned = ownedBy(branch, all.get(place)?.object);
    if (owned !== undefined) all.set(place, identified({ object: owned, where }, derivedUID));
  }
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { computes: sorted.map(([, declared]) => declared), poolOf, problems };
}

/** With a uid: its own if it stands in a cluster, else one derived from its name. */
function identified<T extends KubeObject>(
  declared: Declared<T>,
  derived: (namespace: string, name: string) => string,
): Declared<T> {
  const { object } = declared;
  const { name, namespace = "", uid } = object.metadata;
  return uid === "" ? { ...declared, object: withUID(object, derived(namespace, name)) } : declared;
}

/** The Compute of a Branch as it is to be; `undefined`: it has none, or somebody else has the name. */
function ownedBy(branch: Branch, standing: Compute | undefined): Compute | undefined {
  const { name, namespace, uid } = branch.metadata;
  if (standing !== undefined && owningBranch(standing)?.uid !== uid) return undefined;
  const spec = declaredSpec(branch);
  if (standing === undefined) {
    if (spec === undefined) return undefined;
    const ownerReferences = [{ apiVersion: API_VERSION, kind: branchKind.kind, name, uid, controller: true }];
    return neverStored({ name, namespace, ownerReferences }, spec);
  }
  return spec === undefined ? asDeleted(standing) : withSpec(standing, spec);
}

function neverStored(
  identity: Pick<ObjectMeta, "name" | "namespace" | "ownerReferences">,
  spec: Compute["spec"],
): Compute {
  const metadata = { ...identity, uid: "", resourceVersion: "" };
  return { apiVersion: API_VERSION, kind: computeKind.kind, metadata, spec, status: {} };
}
