import type { Endpoint } from "../../api/endpoint.ts";
import { couldBeEndpointId } from "../../api/ids.ts";
import { annotation } from "../resources/annotation.ts";
import { branchIDOf, type Compute, isLinked } from "../resources/compute.ts";
import { isObserved } from "../resources/management-policy.ts";
import { type Fleet, signatureIn, uidInSignature } from "../resources/signature.ts";

/**
 * The proof that an endpoint is a Compute's own. `signature`: it carries our name, or shows none and did before.
 * `created`: it answered a create of this object, at a service that shows no names. `adopted`: `spec.adopt` names it.
 * `none`: only an annotation links it, which may have been copied, restored or typed; the endpoint is kept as declared,
 * and never deleted.
 */
export type Proof = "signature" | "created" | "adopted" | "none";

export interface Link {
  endpoint: Endpoint;
  proof: Proof;
}

/** Ownership of one Compute's endpoint, by a list. */
export interface Ownership {
  link: Link | undefined;
  /** The endpoint that we are linked to and that the list lacks. */
  missing: string | undefined;
  /** More endpoints that this object made: ours, and too many. */
  duplicates: readonly Endpoint[];
  /** Endpoints that this object made while the linked one is missing: the first takes its place if that is gone. */
  replacements: readonly Link[];
}

/** A list of endpoints, to be asked by id, by signature and by branch. */
export class EndpointIndex {
  readonly all: readonly Endpoint[];
  readonly #byID: ReadonlyMap<string, Endpoint>;
  readonly #byUID: ReadonlyMap<string, readonly Endpoint[]>;
  /** Made when it is first asked for: only a fleet needs it. */
  #byKey: ReadonlyMap<string, readonly Endpoint[]> | undefined;
  readonly #primaries: ReadonlyMap<string, readonly Endpoint[]>;

  constructor(endpoints: readonly Endpoint[]) {
    this.all = endpoints;
    this.#byID = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
    this.#byUID = Map.groupBy(endpoints, ({ name }) => uidInSignature(name) ?? "");
    this.#primaries = Map.groupBy(
      endpoints.filter(({ type }) => type === "read_write"),
      ({ branch_id }) => branch_id,
    );
  }

  byID(id: string): Endpoint | undefined {
    return this.#byID.get(id);
  }

  /** Endpoints whose names bear the uid of this Compute, in whatever fleet. */
  signedBy(uid: string): readonly Endpoint[] {
    return this.#byUID.get(uid) ?? [];
  }

  /** Endpoints whose names bear this key, in this fleet or in any other one. */
  bearing(key: string, fleet: Fleet, which: "same" | "other"): readonly Endpoint[] {
    this.#byKey ??= Map.groupBy(this.all, ({ name }) => signatureIn(name)?.key ?? "");
    return (this.#byKey.get(key) ?? []).filter(
      ({ name }) => (signatureIn(name)?.fleet === fleet) === (which === "same"),
    );
  }

  primariesOf(branchID: string): readonly Endpoint[] {
    return this.#primaries.get(branchID) ?? [];
  }
}

// A Compute's link stands in its annotation, which survives backup and restore and which anybody may write, and in its
// status, which only operators write. `status.gone` holds one id, and takes one of the two links away:
//
//   annotation | status.endpointID | status.gone | linked to | once that is proved gone
//   a          | any               | none, other | a         | gone is a
//   a          | s                 | a           | s         | gone stays a, and the status forgets s
//   a          | a, none           | a           | none      |
//   none       | s                 | none, other | s         | gone is s
//   none       | s                 | s           | none      |

/**
 * The endpoint that a Compute is recorded to be linked to. A text that can be no id is used nowhere. The status of one
 * that only observes also shows what it is not linked to.
 */
export function recordedID(compute: Compute): string | undefined {
  const { gone, endpointID } = compute.status;
  const linked = annotation(compute, "endpointID");
  const noted = isObserved(compute) && !isLinked(compute) ? undefined : endpointID;
  const id = linked === undefined || linked === gone ? noted : linked;
  return id !== undefined && id !== gone && couldBeEndpointId(id) ? id : undefined;
}

/** The link once this endpoint is proved gone. Of two that are, one would be looked for after the other for ever. */
export function linkWithout(
  goneID: string,
  { metadata, status: { endpointID, gone } }: Compute,
): Pick<Compute["status"], "gone" | "endpointID"> {
  const isOther = gone !== undefined && gone !== endpointID && gone === annotation({ metadata }, "endpointID");
  return isOther && goneID === endpointID ? { gone, endpointID: undefined } : { gone: goneID };
}

/** The endpoint that `spec.adopt` names by its id. */
export function endpointNamedBy({ spec: { adopt } }: Compute): string | undefined {
  return adopt !== undefined && "endpointID" in adopt ? adopt.endpointID : undefined;
}

export function ownershipOf(compute: Compute, endpoints: EndpointIndex): Ownership {
  const recorded = recordedID(compute);
  const own = ownAmong(endpoints, compute);
  const known = recorded === undefined ? undefined : endpoints.byID(recorded);
  const linked = (endpoint: Endpoint): Link => linkTo(compute, endpoint);
  const isTyped = own.length > 0 && !wasOurs(recorded, compute);
  // A list that lacks the recorded endpoint may lag: without a proof that it is gone no other takes its place.
  if (recorded !== undefined && known === undefined && !isTyped) {
    return { link: undefined, missing: recorded, duplicates: [], replacements: own.map(linked) };
  }
  const isKept = known !== undefined && (own.length === 0 || proofOf(compute, known) !== "none");
  const kept = isKept ? known : firstOf(own, compute);
  return {
    link: kept && linked(kept),
    missing: kept === undefined ? recorded : undefined,
    duplicates: own.filter(({ id }) => id !== kept?.id),
    replacements: [],
  };
}

export function linkTo(compute: Compute, endpoint: Endpoint): Link {
  return { endpoint, proof: proofOf(compute, endpoint) };
}

/** True for the proof of an endpoint that this very Compute made. */
export function isOwn(proof: Proof): boolean {
  return proof === "signature" || proof === "created";
}

/** The endpoints that this very object made: by name or, if that is not shown, by the status. Oldest first. */
function ownAmong(endpoints: EndpointIndex, compute: Compute): readonly Endpoint[] {
  const signed = endpoints.signedBy(compute.metadata.uid);
  const { endpointID = "", by } = compute.status.proof ?? {};
  const noted = by === "adopted" ? undefined : endpoints.byID(endpointID);
  const isNoted = noted !== undefined && !signed.includes(noted) && isProved(compute, noted);
  return (isNoted ? [...signed, noted] : signed).toSorted(oldestFirst);
}

/** True if the status knows the endpoint: an annotation alone proves nothing. */
function wasOurs(endpointID: string | undefined, { status }: Compute): boolean {
  return endpointID !== undefined && [status.proof?.endpointID, status.endpointID].includes(endpointID);
}

/** Of several that are ours the one that the status knows, else the oldest. */
function firstOf(own: readonly Endpoint[], { status }: Compute): Endpoint | undefined {
  return own.find(({ id }) => id === status.endpointID) ?? own[0];
}

export function proofOf(compute: Compute, endpoint: Endpoint): Proof {
  if (uidInSignature(endpoint.name) === compute.metadata.uid) return "signature";
  const by = compute.status.proof?.by === "created" ? "created" : "signature";
  if (isProved(compute, endpoint)) return by;
  return isAdoptedBy(compute, endpoint) ? "adopted" : "none";
}

/** True if the status proves an endpoint ours that shows no name: a name that is there and is not ours outranks it. */
function isProved({ metadata, status: { proof } }: Compute, endpoint: Endpoint): boolean {
  if (proof?.uid !== metadata.uid || proof.endpointID !== endpoint.id || proof.by === "adopted") return false;
  return endpoint.name === undefined;
}

/** The endpoint that the status proves to be made for this very Compute, and not to be gone. */
export function provedIn({ metadata, status: { proof, gone } }: Compute): string | undefined {
  if (proof?.uid !== metadata.uid || proof.by === "adopted" || proof.endpointID === gone) return undefined;
  return proof.endpointID;
}

/** The branch's primary is named once, when it is taken over: moving it to another branch undoes nothing. */
function isAdoptedBy({ metadata, spec, status: { proof, ...status } }: Compute, endpoint: Endpoint): boolean {
  const { adopt, type } = spec;
  if (adopt === undefined || endpoint.type !== type) return false;
  if ("endpointID" in adopt) return adopt.endpointID === endpoint.id;
  // Only its signature proves what a former Compute made.
  if ("former" in adopt) return false;
  const wasAdopted = proof?.uid === metadata.uid && proof.endpointID === endpoint.id && proof.by === "adopted";
  return type === "read_write" && (wasAdopted || endpoint.branch_id === branchIDOf({ spec, status }));
}

function oldestFirst(a: Endpoint, b: Endpoint): number {
  return (a.created_at ?? "").localeCompare(b.created_at ?? "") || a.id.localeCompare(b.id);
}
