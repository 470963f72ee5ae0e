import type { BranchReconciler } from "../branch/reconciler.ts";
import { placesOf } from "../branch/users.ts";
import type { ClaimIndex } from "../claims/claim-index.ts";
import type { ComputeReconciler } from "../compute/reconciler.ts";
import type { ConnectionReconciler } from "../connection/reconciler.ts";
import { isRotated, sharingRole } from "../connection-secret/rotation.ts";
import type { Change } from "../kube/store.ts";
import { placeOf } from "../objects/object.ts";
import { sameJSON } from "../objects/record.ts";
import type { StoredSpecs } from "../pool/stored-specs.ts";
import { type Branch, owningBranch } from "../resources/branch.ts";
import { type Connection, isOfCluster } from "../resources/cluster-service-connection.ts";
import type { Compute } from "../resources/compute.ts";
import { type ComputePool, owningPool } from "../resources/compute-pool.ts";
import { type ConnectionUser, connectionKeyOf } from "../resources/connection-user.ts";
import { labels } from "../resources/names.ts";
import type { Namespace } from "../resources/namespace.ts";
import type { Secret } from "../resources/secret.ts";
import { type Unattended, unattended } from "../runtime/unattended.ts";
import { factsForComputes, isReset } from "./branch-news.ts";
import type { Kind } from "./flow-of.ts";
import { linkedKey } from "./indexes.ts";
import type { ChangeHandlers, Informers } from "./informers.ts";
import { isNewsForSiblings, nextInTurn } from "./turns.ts";

export interface EventHandlersOptions extends Unattended {
  informers: Informers;
  claims: ClaimIndex;
  computes: Pick<ComputeReconciler, "gone" | "changed" | "entered" | "relisted" | "passwordChanged">;
  branches: Pick<BranchReconciler, "relisted" | "gone">;
  storedSpecs: Pick<StoredSpecs, "forget">;
  connections: Pick<ConnectionReconciler, "delivered" | "secretDelivered" | "awaitsUser">;
  /** Enqueues these objects. */
  enqueue: (kind: Kind, uids: Iterable<string>) => void;
  /** Lets timers and sockets have their turn; rejects once the operator stops. */
  pause: () => Promise<void>;
}

/** Number of Computes indexed or enqueued in one task: some ten milliseconds. */
const computesPerTask = 500;

/** Enqueues the objects that a change of the watches affects. */
export class EventHandlers implements ChangeHandlers {
  readonly #options: EventHandlersOptions;

  constructor(options: EventHandlersOptions) {
    this.#options = options;
  }

  /**
   * Begin of leading: indexes and enqueues all objects, some of them per task. Nothing may be reconciled before it has
   * ended, because a claim that is not indexed yet would not count.
   */
  async everything(signal: AbortSignal): Promise<void> {
    const { informers, claims, connections, enqueue } = this.#options;
    await this.#eachCompute((uid) => {
      // The Compute may have changed in a pause.
      const compute = informers.computes.byUid(uid);
      if (compute !== undefined) claims.set(compute);
      this.#arrived(uid);
      enqueue("compute", [uid]);
    }, signal);
    const orphans = informers.apiKeys.list().filter((secret) => connections.secretDelivered(secret));
    enqueue("connection", uidsOf([...informers.connections, ...orphans]));
    enqueue("pool", uidsOf(informers.pools.list()));
    enqueue("branch", uidsOf(informers.branches.list()));
  }

  compute(change: Change<Compute>): void {
    const { informers, claims, computes, connections, enqueue } = this.#options;
    const { type, object, previous } = change;
    const { uid, namespace = "" } = object.metadata;
    const claimants = claims.change(change);
    if (type === "deleted") {
      computes.gone(object);
      this.#options.storedSpecs.forget(object);
    } else {
      computes.changed(object);
      this.#arrived(uid);
    }
    enqueue("compute", claimants);
    if (type === "added") {
      const used = this.#connectionOf(object);
      if (used !== undefined && connections.awaitsUser(used)) enqueue("connection", [used.metadata.uid]);
    } else if (type === "deleted" || connectionUseOf(previous) !== connectionUseOf(object)) {
      this.connectionsUsedBy(object, previous);
    }
    const isMoved = previous !== undefined && !sameJSON(placesOf(previous), placesOf(object));
    if (type !== "updated" || isMoved || previous.metadata.generation !== object.metadata.generation) {
      this.#branchesOf(object, previous);
    }
    const owner = owningPool(object);
    if (owner !== undefined) enqueue("pool", [owner.uid]);
    if (isNewsForSiblings(change)) enqueue("compute", uidsOf(nextInTurn(object, informers)));
    // Regardless of its owner, the Compute takes or frees a name that a pool wants for a member.
    const pool = type === "updated" ? undefined : informers.pools.get(namespace, poolNameIn(object));
    if (pool !== undefined) enqueue("pool", [pool.metadata.uid]);
  }

  /** The Branches that these versions of a Compute name, belong to or stand on, which may wait for it. */
  #branchesOf(...versions: readonly (Compute | undefined)[]): void {
    const { informers, enqueue } = this.#options;
    for (const version of versions) {
      if (version === undefined) continue;
      const { namespace = "" } = version.metadata;
      const named = informers.branches.get(
        namespace,
        version.spec.branchRef?.name ?? owningBranch(version)?.name ?? "",
      );
      const places = placesOf(version).map((id) => linkedKey(namespace, version.spec.projectID, id));
      const below = places.flatMap((key) => [...informers.indexes.linkedBranches.of(key)]);
      enqueue("branch", uidsOf(new Set([...(named === undefined ? [] : [named]), ...below])));
    }
  }

  computesRelisted(): void {
    const { computes, enqueue } = this.#options;
    computes.relisted();
    const enqueued = this.#eachCompute((uid) => enqueue("compute", [uid]));
    void unattended(enqueued, this.#options, "Could not enqueue all Computes after a complete list");
  }

  branch({ type, object, previous }: Change<Branch>): void {
    const { informers, connections, enqueue } = this.#options;
    if (type === "deleted") this.#options.branches.gone(object);
    enqueue("branch", [object.metadata.uid]);
    const used = this.#connectionOf(object);
    if (type === "added") {
      if (used !== undefined && connections.awaitsUser(used)) enqueue("connection", [used.metadata.uid]);
    } else if (type === "deleted" || connectionUseOf(previous) !== connectionUseOf(object)) {
      this.connectionsUsedBy(object, previous);
    }
    const onBranch = () => uidsOf(informers.indexes.computesOnBranch.of(placeOf(object.metadata)));
    if (type === "updated" && isReset(previous, object)) {
      for (const uid of onBranch()) this.#options.computes.passwordChanged(uid);
      enqueue("compute", onBranch());
    }
    if (type !== "updated" || factsForComputes(previous) !== factsForComputes(object)) {
      enqueue("compute", onBranch());
    }
    if (type !== "deleted" && previous?.metadata.generation === object.metadata.generation) return;
    // Other Branches may wait for a name or place that this one claims or gives up.
    enqueue("branch", uidsOf(informers.indexes.waitingBranches.of(object.spec.projectID)));
  }

  branchesRelisted(): void {
    const { informers, branches, enqueue } = this.#options;
    branches.relisted();
    enqueue("branch", uidsOf(informers.branches.list()));
  }

  connection({ type, object, previous }: Change<Connection>): void {
    const { informers, claims, connections, enqueue } = this.#options;
    const { uid, name, namespace = "" } = object.metadata;
    connections.delivered(object);
    enqueue("connection", [uid]);
    // A change of the status alone does not affect the Computes.
    if (type === "updated" && isStatusAlone(previous, object)) return;
    this.usersOf(namespace, name);
    if (type === "updated" && sameJSON(servedBy(previous), servedBy(object))) return;
    // Computes of this connection claim places of another service now, or none: those that they blocked may continue.
    for (const user of informers.indexes.users.of(placeOf(object.metadata))) enqueue("compute", claims.movedWith(user));
  }

  pool({ type, object, previous }: Change<ComputePool>): void {
    const { informers, enqueue } = this.#options;
    const { uid, generation, namespace = "", deletionTimestamp } = object.metadata;
    enqueue("pool", [uid]);
    const before = previous?.metadata;
    const same = before?.generation === generation && before?.deletionTimestamp === deletionTimestamp;
    if (type === "updated" && same) return;
    // If the watch of pools lags, a member may match the spec of its pool only now.
    enqueue(
      "compute",
      uidsOf(informers.computes.within(namespace).filter((member) => owningPool(member)?.uid === uid)),
    );
  }

  /** With its labels a namespace may gain or lose the use of ClusterServiceConnections, and Secrets of others. */
  namespace({ type, object, previous }: Change<Namespace>): void {
    if (type === "updated" && sameJSON(previous.metadata.labels, object.metadata.labels)) return;
    const { informers, claims, enqueue } = this.#options;
    const branches = informers.branches.within(object.metadata.name).filter(isOfClusters);
    enqueue("branch", uidsOf(branches));
    const named = informers.computes.within(object.metadata.name).filter(isOfClusters);
    for (const compute of named) enqueue("compute", claims.movedWith(compute));
    this.connectionsUsedBy(...named, ...branches);
    // With its labels it may agree to the Secrets of other namespaces, or no longer.
    enqueue("compute", uidsOf(informers.indexes.computesWithSecretIn.of(object.metadata.name)));
  }

  clusterApiKey({ object }: Change<Secret>): void {
    const { informers, enqueue } = this.#options;
    const { name } = object.metadata;
    const users = informers.connectionsWithin("").filter(({ spec }) => spec.apiKeySecretRef.name === name);
    enqueue("connection", uidsOf(users));
  }

  apiKey({ object }: Change<Secret>): void {
    const { informers, connections, enqueue } = this.#options;
    const { uid, namespace = "" } = object.metadata;
    enqueue("connection", uidsOf(informers.connectionsWithin(namespace)));
    if (connections.secretDelivered(object)) enqueue("connection", [uid]);
  }

  connectionSecret({ type, object, previous }: Change<Secret>): void {
    const { informers, computes, enqueue } = this.#options;
    const { labels: labelled, namespace = "", name } = object.metadata;
    const owner = labelled?.[labels.compute];
    if (owner !== undefined) enqueue("compute", [owner]);
    if (type === "updated" && isRotated(previous, object)) {
      // Other Secrets may hold the password of the same role.
      const others = uidsOf(sharingRole(informers.computes.byUid(owner ?? ""), informers.computes.list()));
      for (const uid of others) computes.passwordChanged(uid);
      enqueue("compute", others);
    }
    const names = ({ spec }: Compute) => spec.connectionSecret?.name === name;
    // A Secret of a former Compute, as a restored cluster has it, is taken over.
    enqueue("compute", uidsOf(informers.indexes.computesWithSecretIn.of(namespace, names)));
    if (type !== "deleted") return;
    // The Secret blocked other Computes that name it, such as one restored from a backup under another uid.
    const others = informers.computes.within(namespace);
    enqueue("compute", uidsOf(others.filter(({ spec }) => spec.connectionSecret?.name === name)));
  }

  /** A Compute from outside the selector is left to the previous process for a while. */
  #arrived(uid: string): void {
    const { informers, computes } = this.#options;
    const at = informers.arrivals.of(uid);
    if (at !== undefined) computes.entered(uid, at);
  }

  /** Calls for each Compute that there is now, some of them per task; rejects once the operator stops. */
  async #eachCompute(call: (uid: string) => void, signal?: AbortSignal): Promise<void> {
    for (const [index, { metadata }] of this.#options.informers.computes.list().entries()) {
      if (index % computesPerTask === computesPerTask - 1) await this.#options.pause();
      signal?.throwIfAborted();
      call(metadata.uid);
    }
  }

  /** Enqueues the Computes and Branches that use a connection. */
  usersOf(namespace: string, connection: string): void {
    const { informers, enqueue } = this.#options;
    const place = placeOf({ namespace, name: connection });
    enqueue("compute", uidsOf(informers.indexes.users.of(place)));
    enqueue("branch", uidsOf(informers.indexes.branchUsers.of(place)));
  }

  /** Enqueues the connections that these versions of an object use. */
  connectionsUsedBy(...versions: readonly (ConnectionUser | undefined)[]): void {
    for (const version of versions) {
      const used = version && this.#connectionOf(version);
      if (used !== undefined) this.#options.enqueue("connection", [used.metadata.uid]);
    }
  }

  #connectionOf(user: ConnectionUser): Connection | undefined {
    const { namespace, name } = connectionKeyOf(user);
    return this.#options.informers.connection(namespace, name);
  }
}

/** True if nothing that affects the connection's Computes changed. */
function isStatusAlone({ metadata: before }: Connection, { metadata: after }: Connection): boolean {
  const relevant = ({ generation, deletionTimestamp, finalizers = [] }: Connection["metadata"]) =>
    JSON.stringify([generation, deletionTimestamp, finalizers]);
  return relevant(before) === relevant(after);
}

/** The service that a connection leads to, and the namespaces it serves. */
function servedBy(connection: Connection): unknown {
  return [connection.spec.baseURL, isOfCluster(connection) ? connection.spec.namespaceSelector : undefined];
}

/** The part of an object that affects its connection. */
function connectionUseOf({ spec, metadata }: ConnectionUser): string {
  return JSON.stringify([spec.connectionRef, metadata.deletionTimestamp]);
}

/** The name of the pool that would give a member this name. */
function poolNameIn({ metadata }: Compute): string {
  return metadata.name.replace(/-\d+$/, "");
}

/** True if an object names a ClusterServiceConnection. */
function isOfClusters(user: ConnectionUser): boolean {
  return connectionKeyOf(user).namespace === "";
}

function uidsOf(objects: Iterable<{ metadata: { uid: string } }>): string[] {
  return Array.from(objects, ({ metadata }) => metadata.uid);
}
