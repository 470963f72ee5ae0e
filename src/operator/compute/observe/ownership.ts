import type { Endpoint } from "../../../api/endpoint.ts";
import { branchIDOf, type Compute } from "../../resources/compute.ts";
import { type Fleet, signatureIn, uidOfMarker } from "../../resources/signature.ts";
import { annotation, type PendingCreate, pendingCreateOf, pendingTakeoverOf, recordedID } from "./annotations.ts";

/**
 * What makes an endpoint ours. `marker`: it carries our name. `created`: this very object made it, where the service
 * shows no names. `adopted`: `spec.adopt` names it. `none`: only an annotation links it, which may have been copied,
 * restored or typed; the endpoint is kept as declared, and never deleted.
 */
export type Proof = "marker" | "created" | "adopted" | "none";

export interface Link {
  endpoint: Endpoint;
  proof: Proof;
}

/** What a list says of the endpoint of one Compute. */
export interface Ownership {
  link: Link | undefined;
  /** The endpoint that we are linked to, or may have signed, and that the list lacks. */
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
    this.#byUID = Map.groupBy(endpoints, ({ name }) => uidOfMarker(name) ?? "");
    this.#primaries = Map.groupBy(
      endpoints.filter(({ type }) => type === "read_write"),
      ({ branch_id }) => branch_id,
    );
  }

  byID(id: string): Endpoint | undefined {
    return this.#byID.get(id);
  }

  /** Those whose names bear the uid of this Compute, in whatever fleet. */
  signedBy(uid: string): readonly Endpoint[] {
    return this.#byUID.get(uid) ?? [];
  }

  /** Those whose names bear this key, in this fleet or in any other one. */
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

/** The endpoint that `spec.adopt` names by its id. */
export function endpointNamedBy({ spec: { adopt } }: Compute): string | undefined {
  return adopt !== undefined && "endpointID" in adopt ? adopt.endpointID : undefined;
}

/** The annotation that proves an endpoint an object's own; it names the object, so a copy of it proves nothing. */
export function createdProof(uid: string, endpointID: string): string {
  return `${uid}/${endpointID}`;
}

/** Whether the endpoint that a Compute is linked to is what the only POST made: nothing more can come of it. */
export function hasArrived(mark: PendingCreate, proof: Proof): boolean {
  return mark.resent !== true && (proof === "marker" || proof === "created");
}

export function ownershipOf(compute: Compute, endpoints: EndpointIndex): Ownership {
  const recorded = recordedID(compute) ?? unlistedTakeover(compute, endpoints);
  const marked = ownAmong(endpoints, compute);
  const known = recorded === undefined ? undefined : endpoints.byID(recorded);
  const linked = (endpoint: Endpoint): Link => ({ endpoint, proof: proofOf(compute, endpoint) });
  if (recorded !== undefined && known === undefined && !isProvedGone(recorded, compute, marked)) {
    return { link: undefined, missing: recorded, duplicates: [], replacements: marked.map(linked) };
  }
  const isKept = known !== undefined && (marked.length === 0 || proofOf(compute, known) !== "none");
  const kept = isKept ? known : firstOf(marked, compute);
  return {
    link: kept && linked(kept),
    missing: kept === undefined ? recorded : undefined,
    duplicates: marked.filter(({ id }) => id !== kept?.id),
    replacements: [],
  };
}

/** An endpoint that is listed without our signature is not ours yet; without the endpoint a list does not tell. */
function unlistedTakeover(compute: Compute, endpoints: EndpointIndex): string | undefined {
  const { endpointID } = pendingTakeoverOf(compute) ?? {};
  return endpointID !== undefined && endpoints.byID(endpointID) === undefined ? endpointID : undefined;
}

/** The endpoints that this very object created: by name or, if that is not shown, by annotation. Oldest first. */
function ownAmong(endpoints: EndpointIndex, compute: Compute): readonly Endpoint[] {
  const { metadata } = compute;
  const named = endpoints.signedBy(metadata.uid);
  const recorded = annotation(compute, "createdEndpoint") ?? "";
  const prefix = createdProof(metadata.uid, "");
  const created = recorded.startsWith(prefix) ? endpoints.byID(recorded.slice(prefix.length)) : undefined;
  const own = created === undefined || named.includes(created) ? named : [...named, created];
  return own.toSorted(oldestFirst);
}

/** A list that lacks the recorded endpoint may lag: without a proof that it is gone no other takes its place. */
function isProvedGone(recorded: string, compute: Compute, marked: readonly Endpoint[]): boolean {
  // Proved before another was made in its place; or the annotation was written by hand over what the status has.
  if (pendingCreateOf(compute)?.replaces === recorded) return true;
  const first = firstOf(marked, compute);
  return first !== undefined && first.id === compute.status.endpointID;
}

/** Of several that are ours the one that the status knows, else the oldest. */
function firstOf(marked: readonly Endpoint[], { status }: Compute): Endpoint | undefined {
  return marked.find(({ id }) => id === status.endpointID) ?? marked[0];
}

export function proofOf(compute: Compute, endpoint: Endpoint): Proof {
  const { metadata } = compute;
  if (uidOfMarker(endpoint.name) === metadata.uid) return "marker";
  const proof = createdProof(metadata.uid, endpoint.id);
  if (annotation(compute, "createdEndpoint") === proof) return "created";
  const wasAdopted = annotation(compute, "adoptedEndpoint") === proof;
  return isNamedBy(compute, endpoint, wasAdopted) ? "adopted" : "none";
}

/** The branch's primary is named once, when it is taken over: moving it to another branch undoes nothing. */
function isNamedBy(compute: Compute, endpoint: Endpoint, wasAdopted: boolean): boolean {
  const { adopt, type } = compute.spec;
  if (adopt === undefined || endpoint.type !== type) return false;
  if ("endpointID" in adopt) return adopt.endpointID === endpoint.id;
  // Only its signature proves what a former Compute made.
  if ("former" in adopt) return false;
  return type === "read_write" && (wasAdopted || endpoint.branch_id === branchIDOf(compute));
}

function oldestFirst(a: Endpoint, b: Endpoint): number {
  return (a.created_at ?? "").localeCompare(b.created_at ?? "") || a.id.localeCompare(b.id);
}
