import type { Endpoint } from "../../../src/api/endpoint.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { annotationOf, isDeleting, signatureIn, signatureOf, specOf, statusOf } from "../world/computes.ts";

/** What the judge reads of an endpoint. */
export type Shown = Pick<Endpoint, "id" | "name" | "type" | "branch_id">;

/** One write of an operator, as it arrives at the service. */
export interface Arrival {
  method: string;
  endpointID: string;
  body: unknown;
}

/** What an operator could know when it sent a write: its cluster, and since when it may believe otherwise. */
export interface View {
  fleet: string;
  /** All Computes that its cluster has or lately had, as they were last. */
  computes: readonly KubeObject[];
  /** Uids of those that were ever linked to an endpoint. */
  linked: ReadonlySet<string>;
  /** Versions of a Compute that an operator may still plan from, its newest included. */
  versionsOf: (uid: string) => readonly KubeObject[];
  /** Endpoints that no list can have shown yet when the write was planned. */
  isNew: (endpoint: Shown) => boolean;
}

/**
 * What is wrong about a write by rule 1 of the design; `undefined`: nothing. `endpoints`: from before the write.
 * `formerNames`: what its endpoint bore when it was read right before, for the service knows no conditional delete.
 */
export function wrongIn(
  arrival: Arrival,
  endpoints: readonly Shown[],
  view: View,
  formerNames: readonly string[] = [],
): string | undefined {
  const target = endpoints.find(({ id }) => id === arrival.endpointID);
  if (target === undefined) return undefined;
  if (arrival.method === "DELETE") {
    const signers = new Set([target.name, ...formerNames].map((name) => signatureIn(name)?.uid));
    const by = view.computes.find(({ metadata }) => signers.has(metadata.uid));
    const adopter = view.computes.find((compute) => adoptsByID(compute, target.id));
    return by === undefined && adopter === undefined ? `DELETE of ${target.id}, signed ${target.name}` : undefined;
  }
  const name = nameIn(arrival.body);
  return name === undefined ? undefined : wrongSigning(target, name, endpoints, view);
}

/** What is wrong about giving an endpoint this name. */
export function wrongSigning(target: Shown, name: string, endpoints: readonly Shown[], view: View): string | undefined {
  const signer = view.computes.find((compute) => signatureOf(compute, view.fleet) === name);
  if (signer === undefined) return `${target.id} gets the name ${name}, which is the signature of no Compute`;
  // A signature with our uid is ours under any fleet.
  if (signatureIn(target.name)?.uid === signer.metadata.uid) return undefined;
  const versions = view.versionsOf(signer.metadata.uid);
  const complaints = versions.map((version) => whyNotTakenOver(version, target, endpoints, view));
  const why = complaints.every((each) => each !== undefined) ? complaints.at(-1) : undefined;
  return why && `${signer.metadata.name} signs ${target.id} over ${target.name}: ${why}`;
}

/** Why a Compute may not take over an endpoint. */
export function whyNotTakenOver(
  compute: KubeObject,
  target: Shown,
  endpoints: readonly Shown[],
  view: View,
): string | undefined {
  const own = signatureIn(signatureOf(compute, view.fleet));
  const isOfFormerCompute = ({ name }: Shown) => {
    const signature = signatureIn(name);
    return signature?.fleet === own?.fleet && signature?.key === own?.key;
  };
  const { adopt, branchID, type } = specOf(compute);
  if (!isJsonObject(adopt) || adopt["former"] !== true) return "spec.adopt.former does not ask for it";
  if (!isOfFormerCompute(target)) return "fleet and key are not its own";
  if (view.linked.has(compute.metadata.uid)) return "it was linked before";
  if (endpoints.filter((one) => isOfFormerCompute(one) && !view.isNew(one)).length > 1) return "there is more than one";
  if (target.branch_id !== branchID || target.type !== type) return "branch or type differ";
  const others = view.computes.filter(({ metadata }) => metadata.uid !== compute.metadata.uid);
  const holder = others.find(
    (other) => !isDeleting(other) && (hasLink(other, target.id) || adoptsByID(other, target.id)),
  );
  return holder && `${holder.metadata.name} has it`;
}

export function hasLink(compute: KubeObject, endpointID: string): boolean {
  if (annotationOf(compute, "endpoint-id") === endpointID) return true;
  return !isObserved(compute) && statusOf(compute)["endpointID"] === endpointID;
}

/** A Compute that only observes claims nothing by what it shows or names. */
function isObserved(compute: KubeObject): boolean {
  return specOf(compute)["managementPolicy"] === "Observe";
}

function adoptsByID(compute: KubeObject, endpointID: string): boolean {
  const { adopt } = specOf(compute);
  return !isObserved(compute) && isJsonObject(adopt) && adopt["endpointID"] === endpointID;
}

function nameIn(body: unknown): string | undefined {
  const endpoint = isJsonObject(body) ? body["endpoint"] : undefined;
  const name = isJsonObject(endpoint) ? endpoint["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}
