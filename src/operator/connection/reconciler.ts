import { type ClusterError, isRefusal } from "../kube/errors.ts";
import type { RecordEvent } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import type { Compute } from "../resources/compute.ts";
import { conditionOf, timestamp } from "../resources/conditions-of.ts";
import { sameJSON } from "../resources/equal.ts";
import { type ServiceConnection, serviceConnectionKind } from "../resources/service-connection.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { Guards, type GuardsOptions, hasFinalizer } from "./finalizers.ts";
import { notAllowed } from "./messages.ts";
import type { SessionRegistry } from "./registry.ts";
import { type Resolved, type Secret, secretKind } from "./resolve.ts";
import type { Session } from "./session.ts";
import { isWhole, ownWord, statusOf } from "./status.ts";
import { type Leaving, leavingOf } from "./terminating.ts";
import { Transitions } from "./transitions.ts";

export interface ConnectionReconcilerOptions extends GuardsOptions {
  clock: Clock;
  connections: SessionRegistry;
  cache: GuardsOptions["cache"] & { connectionByUID(uid: string): ServiceConnection | undefined };
  /** Has the Computes that use this connection looked at again. */
  enqueueUsers: (namespace: string, name: string) => void;
  event: RecordEvent;
  log: Logger;
}

/** How many statuses without an answer are remembered of one connection. */
const mostUnanswered = 5;

/** Keeps one ServiceConnection: its session, its finalizers while in use, its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  readonly #guards: Guards;
  /** What Computes were last told, by uid: they are woken when it changes. */
  readonly #told = new Map<string, { namespace: string; name: string; news: string }>();

  /**
   * What this process last said of each, by uid; no `word` where no answer came, and either that stands there or what
   * stood before. Shards report on one connection and may see it differently: a shard that answered each word of the
   * other's with its own would never end. `unanswered` may still take effect, long after they were given up.
   */
  readonly #said = new Map<string, { word?: string; unanswered: readonly ServiceConnection["status"][] }>();
  /** Connections, by uid, of which this process has had something to report. */
  readonly #known = new Set<string>();
  readonly #turns: Transitions;

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
    this.#guards = new Guards(options);
    this.#turns = new Transitions(options.log, options.event);
  }

  /** The watch brought one: should it be gone before a pass looks at it, what it guarded is known all the same. */
  seen({ metadata: { uid, name, namespace = "" } }: ServiceConnection): void {
    if (!this.#told.has(uid)) this.#told.set(uid, { namespace, name, news: "" });
  }

  /**
   * The watch brought a Secret: answers whether a pass over its uid is due. One that is being deleted and still guarded
   * is let go by that, should the connection that it was guarded for be gone without a word.
   */
  secretSeen(secret: Secret): boolean {
    const { uid, name, namespace = "", deletionTimestamp } = secret.metadata;
    if (deletionTimestamp === undefined || !hasFinalizer(secret)) return false;
    this.#told.set(uid, { namespace, name, news: "" });
    return true;
  }

  /** Answers with the milliseconds until the next look, where one is due without a change. */
  async reconcile(uid: string): Promise<number | undefined> {
    const { cache, connections } = this.#options;
    const connection = cache.connectionByUID(uid);
    if (connection === undefined) {
      connections.quit(uid);
      connections.guardRefused(uid, undefined);
      const told = this.#told.get(uid);
      if (told !== undefined) {
        await this.#guards.releaseSecrets(told.namespace, { gone: uid });
        this.#options.enqueueUsers(told.namespace, told.name);
      }
      this.#told.delete(uid);
      this.#said.delete(uid);
      this.#known.delete(uid);
      this.#turns.forget(uid);
      return undefined;
    }
    this.#turns.begin(connection);
    const guarded = await this.#guards.protect(connection).catch(refusalOf);
    if (guarded === "gone") {
      const { name, namespace = "" } = connection.metadata;
      this.#told.set(uid, { namespace, name, news: "" });
      return undefined;
    }
    const refusal = guarded === "stays" ? undefined : guarded;
    connections.guardRefused(uid, refusal && notAllowed.finalizer(refusal.message));
    const resolved = connections.resolved(connection);
    const session = this.#session(connection, resolved);
    // Computes first: they go on also where the status cannot be written.
    this.#tell(connection, resolved, session);
    await this.#report(connection, resolved, session);
    // Told of, it is still a pass that failed, and is repeated.
    if (refusal !== undefined) throw refusal;
    return session?.probe.dueInMs;
  }

  #session(connection: ServiceConnection, resolved: Resolved): Session | undefined {
    const { connections } = this.#options;
    if (resolved.kind === "refused") {
      connections.quit(connection.metadata.uid);
      return undefined;
    }
    const session = connections.join(connection, resolved.account);
    session.probe.start();
    return session;
  }

  #dependentsOf({ metadata: { namespace = "", name } }: ServiceConnection): Compute[] {
    const { cache } = this.#options;
    return [...cache.usersOf(namespace, name), ...cache.departedFrom(namespace, name)];
  }

  async #report(connection: ServiceConnection, resolved: Resolved, session: Session | undefined): Promise<void> {
    const { clock, cluster, cache } = this.#options;
    const latest = cache.connectionByUID(connection.metadata.uid) ?? connection;
    if (!this.#hasNews(latest, session)) return;
    const secret = cache.secret(latest.metadata.namespace ?? "", latest.spec.apiKeySecretRef.name);
    const leaving = leavingOf(latest, secret, this.#dependentsOf(latest));
    const status = statusOf(latest, resolved, session, leaving, timestamp(clock.now()));
    const { uid } = latest.metadata;
    if (session?.probe.health.kind !== "unknown") this.#turns.report(latest, status);
    const word = ownWord(status, session);
    const said = this.#said.get(uid);
    const { unanswered = [] } = said ?? {};
    const isUncertain = said !== undefined && said.word === undefined;
    const stands = !isUncertain && sameJSON(status, latest.status);
    const isOutdated = unanswered.some((former) => sameJSON(former, latest.status));
    if (stands || (said?.word === word && isWhole(latest) && !isOutdated)) {
      this.#said.set(uid, { word, unanswered });
      return;
    }
    const patch = guardedPatch(latest).setStatus(status).ops();
    this.#said.set(uid, { unanswered: [...unanswered, status].slice(-mostUnanswered) });
    await cluster.patch(serviceConnectionKind, latest.metadata, patch, { subresource: "status" });
    this.#said.set(uid, { word, unanswered });
    this.#warn(leaving, latest, secret);
  }

  /** What an earlier process reported stands until the first probe of this one has ended. */
  #hasNews(connection: ServiceConnection, session: Session | undefined): boolean {
    const { uid } = connection.metadata;
    const isUnknown = session?.probe.health.kind === "unknown" && !session.pause.isOn;
    if (isUnknown && isWhole(connection) && !this.#known.has(uid)) return false;
    this.#known.add(uid);
    return true;
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
    const health = session?.probe.health;
    const news = JSON.stringify([
      session?.fingerprint ?? (resolved.kind === "refused" ? resolved.message : ""),
      health?.kind === "unreachable" ? "reachable" : health?.kind,
      connection.metadata.deletionTimestamp !== undefined,
      connection.spec.allowedProjects,
      this.#options.connections.isProtected(connection),
    ]);
    const changed = this.#told.get(uid)?.news !== news;
    this.#told.set(uid, { namespace, name, news });
    if (changed) this.#options.enqueueUsers(namespace, name);
  }
}

/** Throws what is no refusal of the API server. */
function refusalOf(error: unknown): ClusterError {
  if (isRefusal(error)) return error;
  throw error;
}
