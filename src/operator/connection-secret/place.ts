import type { KubeObject } from "../objects/object.ts";
import type { Compute, SecretStatus } from "../resources/compute.ts";
import { labels, SECRET_OF, SECRETS_FROM } from "../resources/names.ts";
import { isOurKind, isOwnedBy, type KeptSecret } from "./kept-secret.ts";

// The place of a connection Secret: the namespace of its Compute, or another one that agrees by a label.
//
//   place             | proves the Secret ours     | goes with the Compute by
//   its own namespace | type, label, owner         | the garbage collector
//   another namespace | type, label, SECRET_OF     | the operator, before it releases the Compute
//
// No tenant's mark opens a namespace: the operator writes and deletes nothing in another one without its agreement.

export interface SecretPlace {
  namespace: string;
  name: string;
}

/** The place that the spec names. */
export function placeOfSecret({ metadata, spec }: Pick<Compute, "metadata" | "spec">): SecretPlace | undefined {
  const { namespace = metadata.namespace ?? "", name } = spec.connectionSecret ?? {};
  return name === undefined ? undefined : { namespace, name };
}

/** The Secret that the status names. An earlier version named only one of the own namespace, as `binding`. */
export function secretInStatus({ metadata, status }: Compute): SecretStatus | undefined {
  if (status.connectionSecret !== undefined || status.binding === undefined) return status.connectionSecret;
  return { namespace: metadata.namespace, name: status.binding.name };
}

export function isElsewhere(place: { namespace?: string | undefined }, { metadata }: Compute): boolean {
  return place.namespace !== metadata.namespace;
}

export function isAt(place: SecretPlace | undefined, { metadata }: KubeObject): boolean {
  return place !== undefined && metadata.name === place.name && metadata.namespace === place.namespace;
}

/** The value of `SECRET_OF` on this Compute's Secret. */
export function markOf({ metadata: { namespace = "", name, uid } }: Compute): string {
  return `${namespace}/${name}/${uid}`;
}

/** The label by which a namespace agrees to Secrets of this one's Computes. */
export function agreementOf({ metadata: { namespace = "" } }: Compute): string {
  return `${SECRETS_FROM}/${namespace}`;
}

/** True if the Secret is this Compute's. */
export function isOf(secret: KeptSecret, compute: Compute): boolean {
  const { uid } = compute.metadata;
  if (!isElsewhere(secret.metadata, compute)) return isOwnedBy(secret, uid);
  const isOurs = isOurKind(secret, uid);
  return isOurs && secret.metadata.annotations?.[SECRET_OF] === markOf(compute);
}

/** The uid of the former Compute of this namespace and name whose Secret this is, as a restored cluster has it. */
export function formerOwner({ metadata }: KeptSecret, compute: Compute): string | undefined {
  const former = metadata.labels?.[labels.compute] ?? "";
  const { namespace = "", name, uid } = compute.metadata;
  if (!isElsewhere(metadata, compute) || former === uid) return undefined;
  return metadata.annotations?.[SECRET_OF] === `${namespace}/${name}/${former}` ? former : undefined;
}
