import { isDeepStrictEqual } from "node:util";
import { lastApplied } from "../../operator/kube/objects.ts";
import { type KubeObject, placeOf } from "../../operator/objects/object.ts";
import { type Branch, owningBranch } from "../../operator/resources/branch.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { type ComputePool, owningPool } from "../../operator/resources/compute-pool.ts";
import type { Declared, Manifests } from "./manifests.ts";
import { inCluster, type Running } from "./running.ts";
import { withSpec } from "./stored.ts";

/**
 * The manifests as they would be stored in the cluster that runs them: what they declare, with identity, links and
 * status of the object that is there, and the connections, members of pools and Computes of Branches that they do not
 * hold. Its other Computes and Branches only claim what they own.
 */
export function overRunning(manifests: Manifests, running: Running): Manifests {
  const problems = [...manifests.problems];
  const notes = [...manifests.notes];
  const declared = over(manifests.computes, running.computes, (each, before) => {
    problems.push(...unchangeable(each, before.spec, each.object.spec, ["projectID", "type"]));
    const { deletionPolicy } = before.spec;
    if (deletionPolicy === undefined || each.object.spec.deletionPolicy !== undefined) return stored(each, before);
    // kubectl apply leaves a field that was never declared as it is.
    return stored({ ...each, object: { ...each.object, spec: { ...each.object.spec, deletionPolicy } } }, before);
  });
  const stands = new Set(running.pools.map(({ metadata }) => placeOf(metadata)));
  for (const { object, where } of manifests.pools) {
    const name = placeOf(object.metadata);
    if (stands.has(name) || !manifests.unnumbered.has(name)) continue;
    problems.push(`${where}: ComputePool ${name}: spec.replicas: is needed to make the pool`);
  }
  const declaredPools = over(manifests.pools, running.pools, (each, before) => {
    const isNumbered = !manifests.unnumbered.has(placeOf(each.object.metadata));
    return storedPool(each, before, { isNumbered, problems, notes });
  });
  const declaredBranches = over(manifests.branches, running.branches, (each, before) => {
    problems.push(...unchangeable(each, before.spec, each.object.spec, ["projectID", "branchName", "parent"]));
    problems.push(...unchangeableType(each, before));
    return stored(each, before);
  });
  const branchUIDs = new Set(declaredBranches.map(({ object }) => object.metadata.uid));
  const poolUIDs = new Set(declaredPools.map(({ object }) => object.metadata.uid));
  const rest = besides(manifests.computes, running.computes);
  const isMember = (compute: Compute) =>
    poolUIDs.has(owningPool(compute)?.uid ?? "") || branchUIDs.has(owningBranch(compute)?.uid ?? "");
  return {
    ...manifests,
    computes: [...declared, ...rest.filter(isMember).map(declaredInCluster)],
    pools: declaredPools,
    branches: declaredBranches,
    connections: [
      ...manifests.connections,
      ...besides(manifests.connections, running.connections).map(declaredInCluster),
    ],
    namespaces: new Map([...running.namespaces, ...manifests.namespaces]),
    others: rest.filter((compute) => !isMember(compute)),
    otherBranches: besides(manifests.branches, running.branches),
    running,
    notes,
    problems,
  };
}

/** Declared objects, each as `change` makes it of the one that stands in the cluster, if any. */
function over<T extends Branch | Compute | ComputePool>(
  declared: readonly Declared<T>[],
  running: readonly T[],
  change: (each: Declared<T>, before: T) => Declared<T>,
): Declared<T>[] {
  const standing = new Map(running.map((object) => [placeOf(object.metadata), object]));
  return declared.map((each) => {
    const before = standing.get(placeOf(each.object.metadata));
    return before === undefined ? each : change(each, before);
  });
}

/** The objects of the cluster that the manifests do not hold. */
function besides<T extends KubeObject>(declared: readonly Declared<T>[], running: readonly T[]): T[] {
  const places = new Set(declared.map(({ object }) => placeOf(object.metadata)));
  return running.filter(({ metadata }) => !places.has(placeOf(metadata)));
}

/** A pool that names no number keeps the one that an autoscaler or a person has set in the cluster. */
function storedPool(
  each: Declared<ComputePool>,
  before: ComputePool,
  { isNumbered, problems, notes }: { isNumbered: boolean; problems: string[]; notes: string[] },
): Declared<ComputePool> {
  const { metadata, spec } = each.object;
  const { replicas } = before.spec;
  problems.push(...unchangeable(each, before.spec.template, spec.template, ["projectID"]));
  if (!isNumbered) {
    if (before.metadata.annotations?.[lastApplied]?.includes('"replicas":') === true) {
      notes.push(
        `ComputePool ${placeOf(metadata)}: kubectl apply refuses it without spec.replicas, because it was applied with it. Use kubectl apply --server-side`,
      );
    }
    return stored({ ...each, object: { ...each.object, spec: { ...spec, replicas } } }, before);
  }
  if (spec.replicas < replicas) {
    notes.push(
      `ComputePool ${placeOf(metadata)}: spec.replicas is ${spec.replicas} here and ${replicas} in the cluster. Leave it out, and use kubectl apply --server-side, if an autoscaler sets it: the plan then takes the cluster's number`,
    );
  }
  return stored(each, before);
}

function declaredInCluster<T>(object: T): Declared<T> {
  return { object, where: inCluster };
}

/** A declared object over the one that stands. */
function stored<T extends Branch | Compute | ComputePool>(declared: Declared<T>, before: T): Declared<T> {
  const changed: T = withSpec(before, declared.object.spec);
  const annotations = { ...before.metadata.annotations, ...declared.object.metadata.annotations };
  return { ...declared, before, object: { ...changed, metadata: { ...changed.metadata, annotations } } };
}

/** A line for each of these fields that the manifest changes: the API server refuses that. */
function unchangeable<T extends object>(
  { object, where }: Declared<Branch | Compute | ComputePool>,
  before: T,
  after: T,
  fields: readonly (string & keyof T)[],
): string[] {
  return fields
    .filter((field) => !isDeepStrictEqual(before[field], after[field]))
    .map(
      (field) =>
        `${where}: ${object.kind ?? ""} ${placeOf(object.metadata)}: ${field} is immutable and is ${inWords(before[field])} in the cluster, so kubectl apply refuses ${inWords(after[field])}`,
    );
}

/** A Branch's compute keeps its type while there is one; a type that is left out is the default of the Compute. */
function unchangeableType(declared: Declared<Branch>, before: Branch): string[] {
  const [was, is] = [before.spec.compute, declared.object.spec.compute];
  if (was === undefined || is === undefined) return [];
  const typeOf = ({ type = "read_write" }: typeof was) => ({ "compute.type": type });
  return unchangeable(declared, typeOf(was), typeOf(is), ["compute.type"]);
}

function inWords(value: unknown): string {
  if (value === undefined) return "not set";
  return typeof value === "string" ? value : JSON.stringify(value);
}
