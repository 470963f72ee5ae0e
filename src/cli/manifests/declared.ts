import { declaredSpec } from "../../operator/branch/owned-compute.ts";
import { generationOf, placeOf } from "../../operator/objects/object.ts";
import { sameJSON } from "../../operator/objects/record.ts";
import { memberSpec, membersOf, planPool, specOf } from "../../operator/pool/plan.ts";
import { type Branch, branchKind, owningBranch } from "../../operator/resources/branch.ts";
import { type Compute, computeKind } from "../../operator/resources/compute.ts";
import type { ComputePool } from "../../operator/resources/compute-pool.ts";
import { API_VERSION } from "../../operator/resources/names.ts";
import { derivedBranchUID, derivedUID } from "./derived-uid.ts";
import type { Declared, Manifests } from "./manifests.ts";

/** All Branches of the manifests, each with a uid. */
export function declaredBranches({ branches }: Manifests, fleet: string | undefined): Declared<Branch>[] {
  return branches.map(({ object, where }) => {
    const { name, namespace = "", uid } = object.metadata;
    const known = uid === "" ? derivedBranchUID(fleet, namespace, name) : uid;
    return { object: { ...object, metadata: { ...object.metadata, uid: known } }, where };
  });
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
  const all = new Map(computes.map((declared) => [placeOf(declared.object.metadata), identified(declared)]));
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
      const made = identified({ object: memberOf(pool, index), where });
      poolOf.set(made.object.metadata.uid, pool);
      all.set(placeOf(made.object.metadata), made);
    }
    for (const member of plan.update) {
      const { compute } = member;
      const generation = generationOf(compute) + 1;
      const object = { ...compute, metadata: { ...compute.metadata, generation }, spec: specOf(pool, member) };
      all.set(placeOf(object.metadata), { object, where });
    }
    for (const { compute } of members) poolOf.set(compute.metadata.uid, pool);
    for (const { compute } of plan.remove) {
      const deletionTimestamp = compute.metadata.creationTimestamp ?? "";
      all.set(placeOf(compute.metadata), {
        object: { ...compute, metadata: { ...compute.metadata, deletionTimestamp } },
        where,
      });
    }
  }
  for (const { object: branch, where } of branches) {
    const place = placeOf(branch.metadata);
    const owned = ownedBy(branch, all.get(place)?.object);
    if (owned !== undefined) all.set(place, identified({ object: owned, where }));
  }
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { computes: sorted.map(([, declared]) => declared), poolOf, problems };
}

/** With a uid: its own if it stands in a cluster, else one derived from its name. */
function identified(declared: Declared<Compute>): Declared<Compute> {
  const { object } = declared;
  const { name, namespace = "", uid } = object.metadata;
  if (uid !== "") return declared;
  return { ...declared, object: { ...object, metadata: { ...object.metadata, uid: derivedUID(namespace, name) } } };
}

/** The Compute of a Branch as it is to be; `undefined`: it has none, or somebody else has the name. */
function ownedBy(branch: Branch, standing: Compute | undefined): Compute | undefined {
  const { name, namespace, uid } = branch.metadata;
  if (standing !== undefined && owningBranch(standing)?.uid !== uid) return undefined;
  const spec = declaredSpec(branch);
  if (standing === undefined) {
    if (spec === undefined) return undefined;
    const ownerReferences = [{ apiVersion: API_VERSION, kind: branchKind.kind, name, uid, controller: true }];
    const metadata = { name, namespace, uid: "", resourceVersion: "", ownerReferences };
    return { apiVersion: API_VERSION, kind: computeKind.kind, metadata, spec, status: {} };
  }
  const { metadata } = standing;
  if (spec === undefined) {
    const deletionTimestamp = metadata.deletionTimestamp ?? metadata.creationTimestamp ?? "";
    return { ...standing, metadata: { ...metadata, deletionTimestamp } };
  }
  if (sameJSON(spec, standing.spec)) return standing;
  return { ...standing, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 }, spec };
}

function memberOf(pool: ComputePool, index: number): Compute {
  const { name, namespace } = pool.metadata;
  return {
    apiVersion: API_VERSION,
    kind: "Compute",
    metadata: { name: `${name}-${index}`, namespace, uid: "", resourceVersion: "" },
    spec: memberSpec(pool, index),
    status: {},
  };
}
