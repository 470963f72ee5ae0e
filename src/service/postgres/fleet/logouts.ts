import { elapsed, type ServiceClock } from "../../clock.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { ServerFailed } from "../host/failure.ts";
import { endAll } from "../session/end-sessions.ts";
import { type Session, superuser } from "../session/privileged-role.ts";
import { literal } from "../session/quoting.ts";
import type { ServiceSessions } from "../session/service-sessions.ts";
import { isPrimary, type Running } from "./fleet-ports.ts";
import { askAgainMs, endOfLog, placeBefore } from "./replay.ts";
import type { Sessions } from "./sessions.ts";

export interface LogoutPorts {
  running: () => readonly Running[];
  sessions: Pick<ServiceSessions, "open">;
  clients: Pick<Sessions, "logOut">;
  clock: Pick<ServiceClock, "after" | "now">;
  /** Starts a replica again. */
  restart: (replica: StoredEndpoint) => Promise<Running | undefined>;
}

/**
 * Time for a replica to come to the change while only the sessions concerned are ended, and in all, in milliseconds:
 * the query of any client may hold its replay up.
 */
const patienceMs = 10_000;
const limitMs = 30_000;

/** Ends the sessions of clients whose logins hold no more, at all computes of a branch. */
export class Logouts {
  readonly #ports: LogoutPorts;

  constructor(ports: LogoutPorts) {
    this.#ports = ports;
  }

  /** Of these roles, or of all. Those at a replica end when it has what the primary has; without one it restarts. */
  async end(branchId: string, primary: Session, roles: readonly string[] | undefined): Promise<void> {
    const position = await endOfLog(primary);
    await endSessions(primary, roles);
    const computes = this.#ports.running().filter(({ endpoint }) => endpoint.branchId === branchId);
    const own = computes.find(({ endpoint }) => isPrimary(endpoint));
    if (!own) return;
    this.#ports.clients.logOut(own.endpoint.id, roles);
    const replicas = computes.filter((one) => one !== own);
    await Promise.all(replicas.map((replica) => this.#endAt(replica, position, roles)));
  }

  /** A session that computes without a pause, or has all locks there, ends with the server alone. */
  async #endAt(replica: Running, position: string, roles: readonly string[] | undefined): Promise<void> {
    if (await this.#endedAt(replica, position, roles).catch(() => false)) return;
    const again = await this.#ports.restart(replica.endpoint);
    if (again && (await this.#endedAt(again, position, roles))) return;
    throw new ServerFailed(`replica ${replica.endpoint.id} is behind: sessions may be open there`);
  }

  /** Answers false for a replica that does not come to the change. */
  async #endedAt(
    { endpoint, config }: Running,
    position: string,
    roles: readonly string[] | undefined,
  ): Promise<boolean> {
    const { sessions, clients, clock } = this.#ports;
    const begunAt = clock.now();
    using server = await sessions.open(config, "postgres");
    for (;;) {
      const waited = clock.now() - begunAt;
      const isBehind = (await placeBefore(position, server)) !== undefined;
      await endSessions(server, waited < patienceMs ? roles : undefined);
      if (!isBehind) break;
      if (waited > limitMs) return false;
      await elapsed(clock, askAgainMs);
    }
    clients.logOut(endpoint.id, roles);
    return true;
  }
}

async function endSessions(server: Session, roles: readonly string[] | undefined): Promise<void> {
  const those = roles ? `IN (${roles.map(literal).join(", ")})` : `<> ${literal(superuser)}`;
  await endAll(server, `usename ${those} AND backend_type IN ('client backend', 'walsender')`);
}
