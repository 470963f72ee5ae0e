import type { KubeObject, OwnerReference, ResourceKind } from "../objects/object.ts";
import { API_VERSION, GROUP, VERSION } from "./names.ts";

/** Resource kind of our own group, as the API server serves it. */
export function ownKind<T extends KubeObject>(kind: string, plural: string, namespaced = true): ResourceKind<T> {
  return { group: GROUP, version: VERSION, plural, kind, namespaced };
}

/** The kinds that keep the specs of Computes that they own. */
const keepers = ["Branch", "ComputePool"];

/**
 * The reference to the owner that keeps an object's spec, if that is of this kind: of several the one that controls it,
 * else the first. Two that both kept it would put it back for ever.
 */
export function keeperOf(
  { metadata }: Pick<KubeObject, "metadata">,
  { kind }: Pick<ResourceKind, "kind">,
): OwnerReference | undefined {
  const owners = metadata.ownerReferences?.filter(
    (owner) => owner.apiVersion === API_VERSION && keepers.includes(owner.kind),
  );
  const keeper = owners?.find(({ controller }) => controller === true) ?? owners?.[0];
  return keeper?.kind === kind ? keeper : undefined;
}
