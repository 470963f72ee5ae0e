import type { Endpoint } from "../../../api/endpoint.ts";
import type { SessionRegistry } from "../../connection/registry.ts";
import type { ClusterClient } from "../../kube/client.ts";
import { type Compute, computeKind } from "../../resources/compute.ts";
import { timestamp } from "../../resources/conditions-of.ts";
import { markerOf } from "../../resources/names.ts";
import type { Clock } from "../../runtime/clock.ts";
import { accessTo, type CrdDeletion, type ListerAccess } from "../execute/context.ts";
import type { Brake } from "../execute/gate.ts";
import type { ClaimIndex } from "../observe/claim-index.ts";
import { ownerOf } from "../observe/claims.ts";
import { indexOf } from "../observe/endpoint-snapshot.ts";
import type { EndpointIndex } from "../observe/ownership.ts";
import type { EventRecord } from "../outcome.ts";
import { goneAfterMs } from "../plan/lost.ts";
import type { ReconcileState } from "../state.ts";
import { cleanedUp } from "../status/messages/events.ts";
import { requeueDelay } from "../status/reasons.ts";
import { leftoversOf, perhapsLeft } from "./leftovers.ts";

export interface CleanupOptions {
  cluster: ClusterClient;
  clock: Clock;
  connections: SessionRegistry;
  claims: ClaimIndex;
  event: (compute: Compute, note: EventRecord) => void;
  brake: Brake;
  uninstalling: CrdDeletion;
  createSettleMs: number;
  signal: AbortSignal;
  /** Nothing more is to be done for it: its connection may go. */
  onSettled: (compute: Compute) => void;
}

/** A Compute that is gone, and what this process knew of it. Times on the monotonic clock, in milliseconds. */
interface Departed {
  last: Compute;
  state: ReconcileState;
  at: number;
  access: ListerAccess | undefined;
  failures: number;
  /** When the first list without an endpoint that is known began. */
  missingSince?: number;
}

/** After this long what could not be cleared up is left, and told, in milliseconds. */
const triedForMs = 3_600_000;
/** The next list enqueues those who wait; this is for when none comes, in milliseconds. */
const listAwaitedMs = 60_000;
/** The same for what waits for its turn: nothing tells when its connection goes. */
const wokenMs = 60_000;

/**
 * Computes that vanished although our finalizer was to hold them: kubectl replace drops it, and a deletion before it
 * is put back is instant. What this very process made for such a one is deleted, for nobody else ever would.
 */
export class Cleanup {
  readonly #options: CleanupOptions;
  readonly #departed = new Map<string, Departed>();

  constructor(options: CleanupOptions) {
    this.#options = options;
  }

  /** The watch says that it is gone; a reconcile of it may still be under way, and learn more. */
  gone(last: Compute, state: ReconcileState): void {
    const { clock } = this.#options;
    const at = clock.monotonic();
    const metadata = { ...last.metadata, deletionTimestamp: timestamp(clock.now()) };
    this.#departed.set(last.metadata.uid, { last: { ...last, metadata }, state, at, access: undefined, failures: 0 });
  }

  /** It is there: the watch had lost sight of it. */
  back(uid: string): void {
    this.#departed.get(uid)?.access?.lister.leave(uid);
    this.#departed.delete(uid);
  }

  /** Those that still need their connection. */
  get all(): Compute[] {
    return [...this.#departed.values()].map(({ last }) => last);
  }

  /** The last that was known of one of them. */
  of(uid: string): Compute | undefined {
    return this.#departed.get(uid)?.last;
  }

  /** Answers with the milliseconds until the next look, where one is due without news. */
  async reconcile(uid: string): Promise<number | undefined> {
    const departed = this.#departed.get(uid);
    if (departed === undefined) return undefined;
    const remains = leftoversOf(departed.last, departed.state.known);
    if (remains.kind === "nothing") return this.#settled(departed);
    if (remains.kind === "kept") return this.#settled(departed, remains.message);
    try {
      return await this.#clearUp(departed, remains.endpointID);
    } finally {
      departed.access?.gate.end();
    }
  }

  async #clearUp(departed: Departed, endpointID: string | undefined): Promise<number | undefined> {
    const { clock, connections, claims, brake } = this.#options;
    const { last, state, at } = departed;
    const { uid } = last.metadata;
    if (clock.monotonic() - at > triedForMs) {
      return this.#settled(departed, cleanedUp.unreached(endpointID ?? markerOf(uid)));
    }
    const connection = connections.view(last);
    if (connection.kind !== "open") return this.#later(departed);
    const lister = connection.session.project(last.spec.projectID);
    if (departed.access?.lister !== lister) departed.access?.lister.leave(uid);
    const access = accessTo(lister, last, brake, () => false);
    departed.access = access;
    lister.use(uid, endpointID);
    const listing = lister.listedAfter(Math.max(at, state.known.listsCountAfter), uid, "resolve");
    if (listing === undefined) return listAwaitedMs;
    const index = indexOf(listing);
    const [left] = ours(index, last, endpointID);
    const claimants = claims.claimantsOf(last);
    if (left === undefined) {
      const unproved = {
        index,
        claimants,
        namesShown: connection.session.showsNames || state.known.pendingCreate?.mark?.named === true,
      };
      return this.#absent(departed, endpointID, listing.startedAt, access, perhapsLeft(last, state.known, unproved));
    }
    const owner = ownerOf(left, claimants, index);
    if (owner !== undefined) return this.#settled(departed);
    return this.#delete(departed, left, access);
  }

  async #delete(departed: Departed, { id }: Endpoint, access: ListerAccess): Promise<number | undefined> {
    const { cluster, uninstalling, signal, event } = this.#options;
    const { last, state } = departed;
    const { uid } = last.metadata;
    const { lister, client, gate } = access;
    if (gate.pass("deletion") !== undefined) return wokenMs;
    const standing = await cluster.get(computeKind, last.metadata);
    if (standing?.metadata.uid === uid) return this.#later(departed);
    if (await uninstalling.now(last)) return this.#settled(departed);
    const answer = await client.deleteEndpoint(last.spec.projectID, id, signal);
    state.needListAfter(lister.wrote(id));
    if (answer.kind === "ok") {
      lister.operations.follow(answer.value.operations);
      event(last, { type: "Warning", reason: "Deleted", message: cleanedUp.deleted(id) });
    }
    // A list that shows it still may lag, or always will.
    return this.#later(departed);
  }

  /** No list shows anything of it: a known endpoint must be proved gone, one that may yet arrive is waited for. */
  async #absent(
    departed: Departed,
    endpointID: string | undefined,
    listedAt: number,
    { client, reservation }: ListerAccess,
    unproved: readonly Endpoint[],
  ): Promise<number | undefined> {
    const { clock, createSettleMs, signal } = this.#options;
    const { last, state } = departed;
    if (endpointID !== undefined) {
      departed.missingSince ??= listedAt;
      const stillToWait = departed.missingSince + goneAfterMs - listedAt;
      if (stillToWait > 0) {
        state.needListAfter(listedAt);
        return stillToWait;
      }
      if (!reservation.tryTake("write")) return wokenMs;
      const answer = await client.getEndpoint(last.spec.projectID, endpointID, signal);
      if (answer.kind === "ok") {
        state.needListAfter(clock.monotonic());
        delete departed.missingSince;
      }
      if (answer.kind !== "notFound") return this.#later(departed);
      state.provedGone(endpointID, "lost");
    }
    const settlesAt = state.known.pendingCreate === undefined ? 0 : state.known.pendingCreate.seenAt + createSettleMs;
    if (listedAt >= settlesAt) {
      const ids = unproved.map(({ id }) => id).toSorted();
      return this.#settled(departed, ids.length > 0 ? cleanedUp.perhaps(ids) : undefined);
    }
    state.needListAfter(listedAt);
    return requeueDelay("progress", departed.failures++);
  }

  #later(departed: Departed): number {
    return requeueDelay("backoff", departed.failures++);
  }

  #settled(departed: Departed, told?: string): undefined {
    const { uid } = departed.last.metadata;
    this.#options.brake.leave(uid);
    this.#departed.delete(uid);
    departed.access?.lister.leave(uid);
    if (told !== undefined) this.#options.event(departed.last, { type: "Warning", reason: "Released", message: told });
    this.#options.onSettled(departed.last);
  }
}

/** What carries its marker, or is what a POST for it was answered with, under a name of nobody else's. */
function ours(index: EndpointIndex, { metadata }: Compute, endpointID: string | undefined): Endpoint[] {
  const known = endpointID === undefined ? undefined : index.byID(endpointID);
  const nameless = known !== undefined && known.name === undefined ? [known] : [];
  return [...index.named(markerOf(metadata.uid)), ...nameless];
}
