import type { ClusterClient } from "../cluster/client.ts";
import type { RecordEvent } from "../cluster/event-record.ts";
import { guardedPatch } from "../cluster/json-patch.ts";
import type { ResourceKind } from "../cluster/objects.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { clippedMessage, conditionOf, datedConditions, timestamp } from "../resources/conditions-of.ts";
import { sameJSON } from "../resources/equal.ts";
import { finalizers } from "../resources/names.ts";
import type { KubeObject } from "../resources/object.ts";
import {
  type ServiceConnection,
  type ServiceConnectionStatus,
  type StatusProject,
  serviceConnectionKind,
} from "../resources/service-connection.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Connections } from "./connections.ts";
import { type Leaving, leavingOf } from "./leaving.ts";
import { type Resolved, type Secret, secretKind } from "./resolve.ts";
import type { Session } from "./session.ts";
import { verdictOn } from "./verdict.ts";

export interface ConnectionReconcilerOptions {
  cluster: ClusterClient;
  clock: Clock;
  connections: Connections;
  cache: {
    connectionByUID(uid: string): ServiceConnection | undefined;
    connectionsOf(namespace: string): readonly ServiceConnection[];
    secret(namespace: string, name: string): Secret | undefined;
    secretsOf(namespace: string): readonly Secret[];
    /** The Computes that name this connection. */
    usersOf(namespace: string, name: string): readonly Compute[];
  };
  /** Has the Computes that use this connection looked at again. */
  wakeUsers: (namespace: string, name: string) => void;
  event: RecordEvent;
}

/** How many projects a status names. */
const mostProjects = 100;

/** Keeps one ServiceConnection: its session, its finalizers while in use, its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  /** What Computes were last told, by uid: they are woken when it changes. */
  readonly #told = new Map<string, { namespace: string; name: string; news: string }>();

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
  }

  /** Answers with the milliseconds until the next look, where one is due without a change. */
  async reconcile(uid: string): Promise<number | undefined> {
    const { cache, connections } = this.#options;
    const connection = cache.connectionByUID(uid);
    if (connection === undefined) {
      connections.quit(uid);
      const told = this.#told.get(uid);
      this.#told.delete(uid);
      if (told !== undefined) {
        await this.#releaseSecrets(told.namespace);
        this.#options.wakeUsers(told.namespace, told.name);
      }
      return undefined;
    }
    if ((await this.#protect(connection)) === "gone") {
      const { name, namespace = "" } = connection.metadata;
      this.#told.set(uid, { namespace, name, news: "" });
      return undefined;
    }
    const resolved = connections.resolved(connection);
    const session = this.#session(connection, resolved);
    await this.#report(connection, resolved, session);
    this.#tell(connection, resolved, session);
    return session?.probeDueIn();
  }

  #session(connection: ServiceConnection, resolved: Resolved): Session | undefined {
    const { connections } = this.#options;
    if (resolved.kind === "refused") {
      connections.quit(connection.metadata.uid);
      return undefined;
    }
    const session = connections.join(connection, resolved.account);
    session.probe();
    return session;
  }

  /** While a Compute uses the connection, it and its Secret may not go: the computes could not be deleted any more. */
  async #protect(connection: ServiceConnection): Promise<"stays" | "gone"> {
    const { cache } = this.#options;
    const namespace = connection.metadata.namespace ?? "";
    if (this.#inUse(connection)) {
      await this.#addFinalizer(serviceConnectionKind, connection);
      const secret = cache.secret(namespace, connection.spec.apiKeySecretRef.name);
      if (secret !== undefined) await this.#addFinalizer(secretKind, secret);
    } else if (hasFinalizer(connection) && (await this.#provedUnused(connection))) {
      await this.#removeFinalizer(serviceConnectionKind, connection);
      // One that was only waiting for that goes, and its watch event brings the rest.
      if (connection.metadata.deletionTimestamp !== undefined) return "gone";
    }
    await this.#releaseSecrets(namespace);
    return "stays";
  }

  /** Lets go of the Secrets that no connection in use names any more. */
  async #releaseSecrets(namespace: string): Promise<void> {
    const { cache } = this.#options;
    const needed = new Set(
      cache
        .connectionsOf(namespace)
        .filter((connection) => this.#inUse(connection) || hasFinalizer(connection))
        .map(({ spec }) => spec.apiKeySecretRef.name),
    );
    const released = cache.secretsOf(namespace).filter((secret) => hasFinalizer(secret));
    for (const secret of released) {
      if (!needed.has(secret.metadata.name)) await this.#removeFinalizer(secretKind, secret);
    }
  }

  #inUse(connection: ServiceConnection): boolean {
    return this.#usersOf(connection).length > 0;
  }

  #usersOf({ metadata }: ServiceConnection): readonly Compute[] {
    return this.#options.cache.usersOf(metadata.namespace ?? "", metadata.name);
  }

  /** The cache may lag behind a Compute that was just made: the API server is asked before the guard is dropped. */
  async #provedUnused({ metadata }: ServiceConnection): Promise<boolean> {
    const { namespace } = metadata;
    let token: string | undefined;
    do {
      const page = await this.#options.cluster.listPage(computeKind, { namespace, limit: 500, continue: token });
      if (page.items.some((item) => connectionNameOf(item) === metadata.name)) return false;
      token = page.continue;
    } while (token !== undefined);
    return true;
  }

  async #addFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    if (hasFinalizer(object) || object.metadata.deletionTimestamp !== undefined) return;
    const patch = guardedPatch(object).addFinalizer(finalizers.inUse);
    await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }

  async #removeFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    const patch = guardedPatch(object, { resourceVersion: true }).removeFinalizer(finalizers.inUse);
    await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }

  async #report(connection: ServiceConnection, resolved: Resolved, session: Session | undefined): Promise<void> {
    const { clock, cluster, cache } = this.#options;
    const latest = cache.connectionByUID(connection.metadata.uid) ?? connection;
    const secret = cache.secret(latest.metadata.namespace ?? "", latest.spec.apiKeySecretRef.name);
    const leaving = leavingOf(latest, secret, this.#usersOf(latest));
    const status = statusOf(latest, resolved, session, leaving, timestamp(clock.now()));
    if (sameJSON(status, latest.status)) return;
    await cluster.patch(serviceConnectionKind, latest.metadata, guardedPatch(latest).setStatus(status).ops(), {
      subresource: "status",
    });
    this.#warn(leaving, latest, secret);
  }

  /** What waits for a person is told on the very object that they deleted, once. */
  #warn(leaving: Leaving | undefined, connection: ServiceConnection, secret: Secret | undefined): void {
    if (leaving === undefined || leaving.endsByItself) return;
    const before = conditionOf(connection.status, "Ready")?.message;
    if (before?.startsWith(leaving.message.slice(0, leaving.message.indexOf(":") + 1)) === true) return;
    const note = { type: "Warning", reason: "Deleting", message: leaving.message } as const;
    if (leaving.what === "ServiceConnection") this.#options.event(serviceConnectionKind, connection, note);
    else if (secret !== undefined) this.#options.event(secretKind, secret, note);
  }

  /** Wakes the Computes where what they may do through the connection has changed. */
  #tell(connection: ServiceConnection, resolved: Resolved, session: Session | undefined): void {
    const { uid, name, namespace = "" } = connection.metadata;
    const { health } = session ?? { health: undefined };
    const news = JSON.stringify([
      session?.through ?? (resolved.kind === "refused" ? resolved.message : ""),
      health?.kind === "unreachable" ? "reachable" : health?.kind,
      connection.metadata.deletionTimestamp !== undefined,
      connection.spec.allowedProjects,
      this.#options.connections.isProtected(connection),
    ]);
    const changed = this.#told.get(uid)?.news !== news;
    this.#told.set(uid, { namespace, name, news });
    if (changed) this.#options.wakeUsers(namespace, name);
  }
}

function statusOf(
  connection: ServiceConnection,
  resolved: Resolved,
  session: Session | undefined,
  leaving: Leaving | undefined,
  now: string,
): ServiceConnectionStatus {
  const { reason, message } = verdictOn(connection, resolved, session);
  const observedGeneration = connection.metadata.generation ?? 0;
  const ready = {
    type: "Ready",
    status: reason === "Authenticated" ? "True" : "False",
    reason,
    message: clippedMessage(leaving === undefined ? message : `${leaving.message} ${message}`),
    observedGeneration,
  };
  const projects = session?.projects ?? undefined;
  return {
    observedGeneration,
    conditions: datedConditions([ready], connection.status.conditions, now),
    keyType: session?.keyType ?? "unknown",
    projectCount: projects?.length ?? connection.status.projectCount,
    projects: projects?.slice(0, mostProjects).map(projectOf) ?? connection.status.projects,
  };
}

function projectOf({
  id,
  name,
  region_id,
  pg_version,
  locked,
}: NonNullable<Session["projects"]>[number]): StatusProject {
  return {
    id,
    ...(name === undefined ? {} : { name }),
    ...(region_id === undefined ? {} : { regionID: region_id }),
    ...(pg_version === undefined ? {} : { pgVersion: pg_version }),
    ...(locked === undefined ? {} : { locked }),
  };
}

function hasFinalizer({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(finalizers.inUse) === true;
}

function connectionNameOf(raw: unknown): string | undefined {
  const spec = typeof raw === "object" && raw !== null && "spec" in raw ? raw.spec : undefined;
  const ref = typeof spec === "object" && spec !== null && "connectionRef" in spec ? spec.connectionRef : undefined;
  const name = typeof ref === "object" && ref !== null && "name" in ref ? ref.name : undefined;
  return typeof name === "string" ? name : "default";
}
