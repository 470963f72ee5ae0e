import { nameOf } from "../../operator/compute/observe/observation.ts";
import { memberSpec, membersOf, planPool, specOf } from "../../operator/pool/plan.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ComputePool } from "../../operator/resources/compute-pool.ts";
import { API_VERSION } from "../../operator/resources/names.ts";
import { derivedUID } from "./derived-uid.ts";
import type { Declared, Manifests } from "./manifests.ts";

/**
 * All Computes of the manifests, those of pools included, each with a uid, sorted by namespace and name.
 *
 * The members of a pool are as the operator would make them: one that is missing is added, one with another spec gets
 * that of the template, and one that is too many is being deleted. `problems`: a line for each pool that cannot be
 * reached, as where another Compute has the name of a member.
 */
export function declaredComputes({ computes, pools }: Manifests): {
  computes: Declared<Compute>[];
  problems: string[];
} {
  const all = new Map(computes.map((declared) => [nameOf(declared.object), identified(declared)]));
  const problems: string[] = [];
  for (const { object: pool, where } of pools) {
    const { name, namespace = "" } = pool.metadata;
    const label = `ComputePool ${namespace}/${name}`;
    const standing = [...all.values()].map(({ object }) => object);
    const members = pool.metadata.uid === "" ? [] : membersOf(pool, standing);
    const plan = planPool(pool, members, (member) => all.get(`${namespace}/${member}`)?.object);
    if (plan.blocked !== undefined) problems.push(`${where}: ${label}: ${plan.blocked}`);
    for (const index of plan.create) {
      const made = identified({ object: memberOf(pool, index), where });
      all.set(nameOf(made.object), made);
    }
    for (const member of plan.update) {
      const { compute } = member;
      const generation = (compute.metadata.generation ?? 0) + 1;
      const object = { ...compute, metadata: { ...compute.metadata, generation }, spec: specOf(pool, member) };
      all.set(nameOf(object), { object, where });
    }
    for (const { compute } of plan.remove) {
      const deletionTimestamp = compute.metadata.creationTimestamp ?? "";
      all.set(nameOf(compute), { object: { ...compute, metadata: { ...compute.metadata, deletionTimestamp } }, where });
    }
  }
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { computes: sorted.map(([, declared]) => declared), problems };
}

/** With a uid: its own if it stands in a cluster, else one derived from its name. */
function identified({ object, where }: Declared<Compute>): Declared<Compute> {
  const { name, namespace = "", uid } = object.metadata;
  if (uid !== "") return { object, where };
  return { object: { ...object, metadata: { ...object.metadata, uid: derivedUID(namespace, name) } }, where };
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
