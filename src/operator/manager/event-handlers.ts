import type { ClaimIndex } from "../compute/observe/claim-index.ts";
import type { ComputeReconciler } from "../compute/reconciler.ts";
import type { ConnectionReconciler } from "../connection/reconciler.ts";
import type { Secret } from "../connection/resolve.ts";
import type { Change } from "../kube/store.ts";
import type { OperatorOptions } from "../options.ts";
import type { Compute } from "../resources/compute.ts";
import { type ComputePool, owningPool } from "../resources/compute-pool.ts";
import { labels } from "../resources/names.ts";
import type { ServiceConnection } from "../resources/service-connection.ts";
import type { Kind } from "./flow-of.ts";
import type { ChangeHandlers, Informers } from "./informers.ts";

export interface EventHandlersOptions {
  informers: Informers;
  claims: ClaimIndex;
  computes: ComputeReconciler;
  connections: ConnectionReconciler;
  selects: OperatorOptions["selects"];
  /** Enqueues these objects. */
  enqueue: (kind: Kind, uids: Iterable<string>) => void;
}

/** Enqueues the objects that a change of the watches affects. */
export class EventHandlers implements ChangeHandlers {
  readonly #options: EventHandlersOptions;

  constructor(options: EventHandlersOptions) {
    this.#options = options;
  }

  /** This process starts to lead: enqueues all objects. */
  everything(): void {
    const { informers, claims, connections, enqueue } = this.#options;
    for (const compute of informers.computes.list()) claims.set(compute);
    const orphans = informers.apiKeys.list().filter((secret) => connections.secretSeen(secret));
    enqueue("connection", uidsOf([...informers.connections.list(), ...orphans]));
    enqueue("compute", uidsOf(informers.computes.list()));
    enqueue("pool", uidsOf(informers.pools.list()));
  }

  compute(change: Change<Compute>): void {
    const { informers, claims, computes, selects, enqueue } = this.#options;
    const { type, object, previous } = change;
    const { uid, namespace = "" } = object.metadata;
    const claimants = claims.change(change);
    if (type === "deleted") computes.gone(object);
    else {
      computes.changed(object, previous);
      if (previous !== undefined && !selects(previous.metadata.labels) && selects(object.metadata.labels)) {
        computes.entered(uid);
      }
    }
    enqueue("compute", claimants);
    if (type !== "updated" || connectionUseOf(previous) !== connectionUseOf(object))
      this.connectionsUsedBy(object, previous);
    const owner = owningPool(object);
    if (owner !== undefined) enqueue("pool", [owner.uid]);
    // Regardless of its owner, the Compute takes or frees a name that a pool wants for a member.
    const pool = type === "updated" ? undefined : informers.pools.get(namespace, poolNameIn(object));
    if (pool !== undefined) enqueue("pool", [pool.metadata.uid]);
  }

  computesRelisted(): void {
    const { informers, computes, enqueue } = this.#options;
    computes.relisted();
    enqueue("compute", uidsOf(informers.computes.list()));
  }

  connection({ type, object, previous }: Change<ServiceConnection>): void {
    const { informers, claims, connections, enqueue } = this.#options;
    const { uid, name, namespace = "" } = object.metadata;
    connections.seen(object);
    enqueue("connection", [uid]);
    // A change of the status alone does not affect the Computes.
    if (type === "updated" && isStatusAlone(previous, object)) return;
    this.usersOf(namespace, name);
    if (type === "updated" && previous.spec.baseURL === object.spec.baseURL) return;
    // Its Computes claim places of another service now: Computes that they blocked may continue.
    for (const user of informers.users.of(namespace, name)) enqueue("compute", claims.movedWith(user));
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

  apiKey({ object }: Change<Secret>): void {
    const { informers, connections, enqueue } = this.#options;
    const { uid, namespace = "" } = object.metadata;
    enqueue("connection", uidsOf(informers.connections.within(namespace)));
    if (connections.secretSeen(object)) enqueue("connection", [uid]);
  }

  connectionSecret({ type, object }: Change<Secret>): void {
    const { informers, enqueue } = this.#options;
    const { labels: labelled, namespace = "", name } = object.metadata;
    const owner = labelled?.[labels.compute];
    if (owner !== undefined) enqueue("compute", [owner]);
    if (type !== "deleted") return;
    // It blocked other Computes that name it, such as one restored from a backup under another uid.
    const others = informers.computes.within(namespace);
    enqueue("compute", uidsOf(others.filter(({ spec }) => spec.connectionSecret?.name === name)));
  }

  /** Enqueues the Computes that use a connection. */
  usersOf(namespace: string, connection: string): void {
    const { informers, enqueue } = this.#options;
    enqueue("compute", uidsOf(informers.users.of(namespace, connection)));
  }

  /** Enqueues the connections that these versions of a Compute use. */
  connectionsUsedBy(...versions: readonly (Compute | undefined)[]): void {
    const { informers, enqueue } = this.#options;
    for (const version of versions) {
      const { metadata, spec } = version ?? {};
      const used = informers.connections.get(metadata?.namespace ?? "", spec?.connectionRef.name ?? "");
      if (used !== undefined) enqueue("connection", [used.metadata.uid]);
    }
  }
}

/** Whether nothing that affects its Computes changed. */
function isStatusAlone({ metadata: before }: ServiceConnection, { metadata: after }: ServiceConnection): boolean {
  const relevant = ({ generation, deletionTimestamp, finalizers = [] }: ServiceConnection["metadata"]) =>
    JSON.stringify([generation, deletionTimestamp, finalizers]);
  return relevant(before) === relevant(after);
}

/** The part of a Compute that affects the connections of its namespace. */
function connectionUseOf({ spec, metadata }: Compute): string {
  return JSON.stringify([spec.connectionRef.name, metadata.deletionTimestamp]);
}

/** The name of the pool that would give a member this name. */
function poolNameIn({ metadata }: Compute): string {
  return metadata.name.replace(/-\d+$/, "");
}

function uidsOf(objects: readonly { metadata: { uid: string } }[]): string[] {
  return objects.map(({ metadata }) => metadata.uid);
}
