import { type EndpointIndex, type Ownership, recordedID } from "../../operator/claims/ownership.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { type Fleet, keyOf, signatureIn } from "../../operator/resources/signature.ts";
import { derivedUIDBefore, isDerivedUID } from "../manifests/derived-uid.ts";

/**
 * The uid under which the service knows the Compute of a manifest without uid. In a fleet the operator's signature
 * shows it: fleet and key find the endpoint, and it bears the uid of the Compute in the cluster. If several uids bear
 * them, only that cluster shows which of them it has, and the Compute keeps the derived one.
 */
export function knownUID(compute: Compute, endpoints: EndpointIndex, fleet: Fleet | undefined): string {
  const { name, namespace = "", uid } = compute.metadata;
  const linked = recordedID(compute);
  // A link or a record of this command, or of the manifest, is for this uid already.
  if (!isDerivedUID(uid) || linked !== undefined || compute.status.pendingWrite !== undefined) return uid;
  const before = derivedUIDBefore(namespace, name);
  const own = endpoints.signedBy(uid).length === 0 && endpoints.signedBy(before).length > 0 ? before : uid;
  const bearing = fleet === undefined ? [] : endpoints.bearing(keyOf(compute), fleet, "same");
  const uids = new Set(bearing.flatMap((endpoint) => signatureIn(endpoint.name)?.uid ?? []));
  const [only = own] = uids;
  return uids.size === 1 && !isDerivedUID(only) ? only : own;
}

/** The fleet for which a Compute is planned: `apply` leaves what it once signed for another one as it is. */
export function fleetOfLinked({ metadata }: Compute, { link }: Ownership, given: Fleet | undefined): Fleet | undefined {
  const shown = signatureIn(link?.endpoint.name)?.fleet;
  return shown !== undefined && (given === undefined || isDerivedUID(metadata.uid)) ? shown : given;
}
