import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import type { SessionRegistry } from "../../connection/registry.ts";
import type { ClusterClient } from "../../kube/client.ts";
import type { EventInput } from "../../kube/event-record.ts";
import { branchIDOf, type Compute, computeKind } from "../../resources/compute.ts";
import { timestamp } from "../../resources/conditions-of.ts";
import { markerOf } from "../../resources/signature.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Reconciled } from "../../runtime/workqueue.ts";
import { accessTo, type CrdDeletion, type ListerAccess } from "../execute/context.ts";
import { stillBears } from "../execute/delete.ts";
import type { Brake } from "../execute/gate.ts";
import { annotationsOf, unknownBranch } from "../observe/annotations.ts";
import type { ClaimIndex } from "../observe/claim-index.ts";
import { type Claimants, ownerOf } from "../observe/claims.ts";
import { indexOf } from "../observe/endpoint-snapshot.ts";
import { hasFinalizer } from "../observe/observation.ts";
import type { EndpointIndex } from "../observe/ownership.ts";
import { signatureInFleet } from "../plan/action.ts";
import { goneAfterMs } from "../plan/lost.ts";
import { handOverForMs, type ReadonlyState } from "../remembered.ts";
import type { ReconcileState } from "../state.ts";
import { cleanedUp } from "../status/messages/events.ts";
import { requeueDelay } from "../status/reasons.ts";

export interface CleanupOptions {
  cluster: ClusterClient;
  clock: Clock;
  connections: SessionRegistry;
  claims: ClaimIndex;
  event: (compute: Compute, record: EventInput) => void;
  brake: Brake;
  /** Whether a Compute that is being deleted goes only because its definition does. */
  uninstalling: CrdDeletion;
  createSettleMs: number;
  signal: AbortSignal;
  /** Nothing more is to be done for the Compute: its connection may be deleted. */
  onSettled: (compute: Compute) => void;
}

/** A deleted Compute, and what this process knew of it. Times on the monotonic clock, in milliseconds. */
interface Gone {
  last: Compute;
  state: ReconcileState;
  at: number;
  access: ListerAccess | undefined;
  failures: number;
  /** When the first list without a known endpoint began. */
  missingSince?: number;
}

/** What could not be cleaned up after this long is reported and left, in milliseconds. */
const triedForMs = 3_600_000;
/** The next list enqueues those that wait; this is for when none comes, in milliseconds. */
const listAwaitedMs = 60_000;
/** The same for what waits at the gate: no event says when its connection goes. */
const gateAwaitedMs = 60_000;

/**
 * Computes that were deleted although our finalizer was to hold them: kubectl replace drops it, and a deletion before
 * it is restored takes effect at once. What this very process created for one is deleted, because nothing else would.
 */
export class Cleanup {
  readonly #options: CleanupOptions;
  readonly #gone = new Map<string, Gone>();

  constructor(options: CleanupOptions) {
    this.#options = options;
  }

  /** The watch says that the Compute is deleted; a reconcile of it may still be running, and learn more. */
  gone(last: Compute, state: ReconcileState): void {
    const { clock } = this.#options;
    const metadata = { ...last.metadata, deletionTimestamp: timestamp(clock.now()) };
    const at = clock.monotonic();
    this.#gone.set(last.metadata.uid, { last: { ...last, metadata }, state, at, access: undefined, failures: 0 });
  }

  /** The Compute exists: the watch had missed it. */
  back(uid: string): void {
    this.#gone.get(uid)?.access?.lister.leave(uid);
    this.#gone.delete(uid);
  }

  /** Those that still need their connection. */
  get all(): Compute[] {
    return [...this.#gone.values()].map(({ last }) => last);
  }

  /** The last known version of one of them. */
  of(uid: string): Compute | undefined {
    return this.#gone.get(uid)?.last;
  }

  async reconcile(uid: string): Promise<Reconciled> {
    const gone = this.#gone.get(uid);
    if (gone === undefined) return {};
    const left = leftoversOf(gone.last, gone.state.known);
    try {
      if (left.kind === "made") return { requeueAfterMs: await this.#cleanUp(gone, left.endpointID) };
      return { requeueAfterMs: this.#settled(gone, left.kind === "kept" ? left.message : undefined) };
    } finally {
      gone.access?.gate.end();
    }
  }

  async #cleanUp(gone: Gone, endpointID: string | undefined): Promise<number | undefined> {
    const { clock, connections, claims, brake } = this.#options;
    const { last, state, at } = gone;
    const { uid } = last.metadata;
    const handOverMs = handOverForMs(state.known, clock.monotonic());
    if (handOverMs > 0) return handOverMs;
    if (clock.monotonic() - at > triedForMs) {
      return this.#settled(gone, cleanedUp.unreached(endpointID ?? markerOf(uid)));
    }
    const connection = connections.view(last);
    if (connection.kind !== "open") return this.#later(gone);
    const lister = connection.session.project(last.spec.projectID);
    if (gone.access?.lister !== lister) gone.access?.lister.leave(uid);
    const access = accessTo(lister, last, brake, () => false);
    gone.access = access;
    lister.use(uid, endpointID, undefined, last.metadata.namespace);
    const listing = lister.listedAfter(Math.max(at, state.known.listsCountAfter), uid, "resolve");
    if (listing === undefined) return listAwaitedMs;
    const index = indexOf(listing);
    const [ours] = createdFor(last, index, endpointID);
    const claimants = claims.claimantsOf(last);
    if (ours === undefined) {
      const namesShown = connection.session.showsNames || state.known.pendingCreate?.mark?.named === true;
      const candidates = candidatesOf(last, state.known, { index, claimants, namesShown });
      return this.#absent(gone, endpointID, listing.startedAt, access, candidates);
    }
    if (ownerOf(ours, claimants, index) !== undefined) return this.#settled(gone);
    return this.#delete(gone, ours, access);
  }

  async #delete(gone: Gone, endpoint: Endpoint, access: ListerAccess): Promise<number | undefined> {
    const { clock, cluster, uninstalling, signal, event } = this.#options;
    const { last, state } = gone;
    const { id } = endpoint;
    const { lister, client, gate } = access;
    if (gate.pass("deletion") !== undefined) return gateAwaitedMs;
    const standing = await cluster.get(computeKind, last.metadata);
    if (standing?.metadata.uid === last.metadata.uid) return this.#later(gone);
    if (await uninstalling.now(last)) return this.#settled(gone);
    const signature = signatureInFleet(endpoint, last.metadata.uid);
    if (signature !== undefined) {
      const isOurs = await stillBears(signature, last.spec.projectID, id, { state, clock, signal }, access);
      if (isOurs !== true) return this.#later(gone);
    }
    const answer = await client.deleteEndpoint(last.spec.projectID, id, signal);
    if (answer.kind === "ok") lister.operations.follow(answer.value.operations);
    gate.answered(answer);
    state.needListAfter(lister.wrote(id));
    if (answer.kind === "ok") {
      event(last, { type: "Warning", reason: "Deleted", message: cleanedUp.deleted(id) });
    }
    // A list that still shows it may lag, or always will.
    return this.#later(gone);
  }

  /** No list shows anything of it: a known endpoint must be proved gone, one that may still arrive is waited for. */
  async #absent(
    gone: Gone,
    endpointID: string | undefined,
    listedAt: number,
    { client, reservation }: ListerAccess,
    candidates: readonly Endpoint[],
  ): Promise<number | undefined> {
    const { clock, createSettleMs, signal } = this.#options;
    const { last, state } = gone;
    if (endpointID !== undefined) {
      gone.missingSince ??= listedAt;
      const stillToWait = gone.missingSince + goneAfterMs - listedAt;
      if (stillToWait > 0) {
        state.needListAfter(listedAt);
        return stillToWait;
      }
      if (!reservation.tryTake("write")) return gateAwaitedMs;
      const answer = await client.getEndpoint(last.spec.projectID, endpointID, signal);
      if (answer.kind === "ok") {
        state.needListAfter(clock.monotonic());
        delete gone.missingSince;
      }
      if (answer.kind !== "notFound") return this.#later(gone);
      state.provedGone(endpointID, "lost");
    }
    const { pendingCreate } = state.known;
    if (pendingCreate === undefined || listedAt >= pendingCreate.seenAt + createSettleMs) {
      const ids = candidates.map(({ id }) => id).toSorted();
      return this.#settled(gone, ids.length > 0 ? cleanedUp.perhaps(ids) : undefined);
    }
    state.needListAfter(listedAt);
    return requeueDelay("progress", gone.failures++);
  }

  #later(gone: Gone): number {
    return requeueDelay("backoff", gone.failures++);
  }

  #settled({ last, access }: Gone, message?: string): undefined {
    const { brake, event, onSettled } = this.#options;
    const { uid } = last.metadata;
    brake.leave(uid);
    this.#gone.delete(uid);
    access?.lister.leave(uid);
    if (message !== undefined) event(last, { type: "Warning", reason: "Released", message });
    onSettled(last);
  }
}

/** The endpoints that carry the marker, or the known one if it carries no name: another's name would be its owner's. */
function createdFor({ metadata }: Compute, index: EndpointIndex, endpointID: string | undefined): Endpoint[] {
  const known = endpointID === undefined ? undefined : index.byID(endpointID);
  const nameless = known !== undefined && known.name === undefined ? [known] : [];
  return [...index.signedBy(metadata.uid), ...nameless];
}

/** What a deleted Compute may have left at the service. */
export type Leftovers =
  | { kind: "nothing" }
  /** An endpoint that this process did not create: without its Compute nobody asks for its deletion. */
  | { kind: "kept"; message: string }
  /** What was created for it: by its id if that is known, else by its marker. */
  | { kind: "made"; endpointID: string | undefined };

/**
 * Only a Compute as kubectl replace leaves it (without finalizer, link and mark) was deleted without being released: a
 * person who removes the finalizer by hand leaves the rest, and means it.
 */
export function leftoversOf(last: Compute, { proved, pendingCreate, released }: ReadonlyState): Leftovers {
  if (released === true || last.spec.deletionPolicy === "Retain") return { kind: "nothing" };
  // Deleted with our finalizer, as when somebody removes it from a Compute whose deletion waits, by hand or with
  // kubectl replace: the two look the same.
  if (hasFinalizer(last) && proved !== undefined) {
    return { kind: "kept", message: cleanedUp.unconfirmed(proved.endpointID) };
  }
  const { endpointID: linked, pendingCreate: mark, paused } = annotationsOf(last);
  if (hasFinalizer(last) || linked !== undefined || mark !== undefined || paused) return { kind: "nothing" };
  if (proved === undefined) return pendingCreate ? { kind: "made", endpointID: undefined } : { kind: "nothing" };
  const { endpointID, proof } = proved;
  return proof === "adopted" ? { kind: "kept", message: cleanedUp.adopted(endpointID) } : { kind: "made", endpointID };
}

/** Endpoints that a create of a deleted Compute may have made, by all but their names, and that are nobody's. */
export function candidatesOf(
  compute: Compute,
  { pendingCreate }: ReadonlyState,
  { index, claimants, namesShown }: { index: EndpointIndex; claimants: Claimants; namesShown: boolean },
): readonly Endpoint[] {
  if (pendingCreate === undefined) return [];
  const branchID = pendingCreate.mark?.branchID ?? branchIDOf(compute);
  return index.all.filter((endpoint) => {
    const isUnnamed = namesShown ? hasUnreadableName(endpoint) : endpoint.name === undefined;
    const isPlaced = branchID === unknownBranch || endpoint.branch_id === branchID;
    const isAlike = isPlaced && endpoint.type === compute.spec.type;
    return isUnnamed && isAlike && ownerOf(endpoint, claimants, index) === undefined;
  });
}
