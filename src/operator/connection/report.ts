import type { ClusterClient } from "../kube/client.ts";
import type { RecordEvent } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { transition } from "../life/report.ts";
import { conditionOf } from "../objects/conditions-of.ts";
import { sameJSON } from "../objects/record.ts";
import { type Connection, kindOf } from "../resources/cluster-service-connection.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import { type Secret, secretKind } from "../resources/secret.ts";
import type { ServiceConnectionStatus } from "../resources/service-connection.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { hourlyMs, shortlyMs } from "../runtime/waits.ts";
import { type Resolved, secretOf } from "./read-account.ts";
import type { Session } from "./session.ts";
import { connectionReasons, isCurrent, reportOf, statusOf } from "./status.ts";
import { type Terminating, terminatingOf } from "./terminating.ts";

export interface StatusReportsOptions {
  cluster: Pick<ClusterClient, "patch">;
  clock: Clock;
  cache: {
    connectionByUID(uid: string): Connection | undefined;
    secret(namespace: string, name: string): Secret | undefined;
    usersOf(namespace: string, name: string): Iterable<ConnectionUser>;
  };
  event: RecordEvent;
  log: Logger;
}

const usable = "Authenticated";

/** Last reports of this process about one connection. */
export interface Reported {
  /** The reason in the log; a new process logs a problem again. */
  logged: string;
  /** The reason in an event, of an earlier process too: its status records it. */
  recorded: string;
  /** The object whose deletion waits for the user, as this process last reported it in an event. */
  warned: Terminating["kind"] | undefined;
  /** `undefined` before the first status. */
  status: ReportedStatus | undefined;
}

/**
 * Another status may stand there later: a write that was given up, of a process that died too, takes effect late, and a
 * shard may see the service differently. So it is written over, ever more rarely: two shards that disagree cost a write
 * an hour each.
 */
interface ReportedStatus {
  report: string;
  /** False while the write has no answer: either its status is stored or the previous one. */
  isAnswered: boolean;
  /** The base URL and key that the stored status is about. */
  fingerprint: string | undefined;
  rewrites: number;
  /** Time of the next rewrite at the earliest, on the monotonic clock. */
  rewriteAt: number;
}

/**
 * Reports what is known of connections, once each, whatever their number of Computes: the status, and where a
 * connection becomes unusable or usable again, a log line and an event on it.
 */
export class StatusReports {
  readonly #options: StatusReportsOptions;

  constructor(options: StatusReportsOptions) {
    this.#options = options;
  }

  /** Writes the status where it differs. Returns the delay until another process's status may be written over. */
  async report(
    connection: Connection,
    resolved: Resolved,
    session: Session | undefined,
    memory: { reported: Reported | undefined },
  ): Promise<number | undefined> {
    const { clock, cluster, cache } = this.#options;
    const { uid, namespace = "", name } = connection.metadata;
    const latest = cache.connectionByUID(uid) ?? connection;
    const own = (memory.reported ??= firstOf(latest));
    // The status of an earlier process is kept until the first probe of this one has ended.
    if (session?.state.shown.kind === "unknown" && isCurrent(latest) && own.status === undefined) return undefined;
    const secret = secretOf(latest, cache);
    const users = () => [...cache.usersOf(namespace, name)];
    const terminating = terminatingOf(latest, secret, users);
    const fingerprint = session?.fingerprint;
    // A process that starts takes the stored status for that of its own key: whether that changed, only /auth can tell.
    const about = own.status === undefined && isCurrent(latest) ? fingerprint : own.status?.fingerprint;
    const isOfKey = fingerprint !== undefined && about === fingerprint;
    const status = statusOf(latest, resolved, session, terminating, users, { now: clock.now(), isOfKey });
    if (session?.state.health.kind !== "unknown") this.#announce(own, latest, status);
    const report = reportOf(status, session);
    const now = clock.monotonic();
    const before = own.status?.report === report ? own.status : undefined;
    const rewrites = before?.rewrites ?? 0;
    if (own.status?.isAnswered !== false && sameJSON(status, latest.status)) {
      const rewriteAt = own.status?.rewriteAt ?? now + shortlyMs;
      own.status = { report, fingerprint, isAnswered: true, rewrites, rewriteAt };
      return undefined;
    }
    const isRewrite = before?.isAnswered === true && isCurrent(latest);
    if (isRewrite && now < before.rewriteAt) return before.rewriteAt - now;
    const rewriteAt = now + Math.min(shortlyMs * 4 ** rewrites, hourlyMs);
    const next = { report, rewrites: isRewrite ? rewrites + 1 : rewrites, rewriteAt };
    own.status = { ...next, fingerprint: about, isAnswered: false };
    const patch = guardedPatch(latest).setStatus(status).ops();
    await cluster.patch(kindOf(latest), latest.metadata, patch, { subresource: "status" });
    own.status = { ...next, fingerprint, isAnswered: true };
    this.#warn(own, terminating, latest, secret);
    return undefined;
  }

  #announce(own: Reported, connection: Connection, status: ServiceConnectionStatus): void {
    const ready = conditionOf(status, "Ready");
    if (ready === undefined) return;
    const { name, namespace } = connection.metadata;
    const { reason, message } = ready;
    if (reason !== own.logged) {
      own.logged = reason;
      this.#options.log[reason === usable ? "info" : "warn"]({ namespace, connection: name, reason }, message);
    }
    // A deletion that waits for the user has its own event.
    const shown = { kind: "shown", reason, message } as const;
    const change = transition(own.recorded, shown, connectionReasons, { isAnnounced: true });
    own.recorded = reason;
    if (change !== undefined) this.#options.event(kindOf(connection), connection, change);
  }

  /** A deletion that waits for the user is an event on the deleted object, once a process. */
  #warn(own: Reported, terminating: Terminating | undefined, connection: Connection, secret: Secret | undefined): void {
    const warned = terminating?.endsAutomatically === false ? terminating.kind : undefined;
    const isNews = warned !== own.warned;
    own.warned = warned;
    if (terminating === undefined || warned === undefined || !isNews) return;
    const event = { type: "Warning", reason: "Deleting", message: terminating.message } as const;
    if (terminating.kind === "connection") this.#options.event(kindOf(connection), connection, event);
    else if (secret !== undefined) this.#options.event(secretKind, secret, event);
  }
}

/** Reports of an earlier process. */
function firstOf({ status }: Connection): Reported {
  const ready = conditionOf(status, "Ready");
  const recorded = ready === undefined || ready.status === "Unknown" ? usable : ready.reason;
  return { logged: usable, recorded, warned: undefined, status: undefined };
}
