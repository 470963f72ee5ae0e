import { Turns } from "../../sharing/turns.ts";
import type { ServerConfig } from "../server/config.ts";
import type { PostgresServer } from "../server/server.ts";
import { cutName } from "../session/quoting.ts";
import { parseVerifier, type RoleVerifier, unfitVerifier } from "../session/scram.ts";
import type { ServiceSessions } from "../session/service-sessions.ts";
import type { SqlClient, TextRow } from "../session/sql-client.ts";
import type { Fleet } from "./fleet.ts";
import type { Running } from "./fleet-ports.ts";

/** The longest verifier that is read, in characters: a role may give its own any salt, which each login would carry. */
const longestVerifier = 1000;

export interface VerifierPorts {
  sessions: ServiceSessions;
  /** Makes up what a role that is not there would answer, always the same. */
  secret: string;
  fleet: Pick<Fleet, "refusesLogin">;
}

/**
 * Passwords' verifiers as the servers have them, also of those set with SQL, so each login asks for them. One session
 * of each server serves all questions; it takes one of the places that Postgres reserves for superusers.
 */
export class Verifiers {
  readonly #ports: VerifierPorts;
  readonly #sessions = new Map<PostgresServer, SqlClient>();
  readonly #turns = new Turns();

  constructor(ports: VerifierPorts) {
    this.#ports = ports;
  }

  /**
   * A role's verifier; of one that is not there, may not log in, or has no password, one that has expired or was reset,
   * or a long verifier, one that nothing fits. PgBouncer would go on with a session that is open. `from`: the network
   * whose client asks, as these take turns.
   */
  of({ endpoint, server, config }: Running, role: string, from?: string): Promise<RoleVerifier> {
    const ask = async () => {
      const session = this.#sessions.get(server) ?? (await this.#open(server, config));
      const { rows } = await session.execute(
        `SELECT pg_catalog.left(rolpassword, ${longestVerifier}), oid FROM pg_catalog.pg_authid
          WHERE rolname OPERATOR(pg_catalog.=) $1::pg_catalog.name
          AND rolcanlogin AND (rolvaliduntil IS NULL OR rolvaliduntil OPERATOR(pg_catalog.>) pg_catalog.now())`,
        [role],
      );
      const { fleet } = this.#ports;
      const [text, oid] = fleet.refusesLogin(endpoint.branchId, cutName(role)) ? [] : (rows[0] ?? []);
      const verifier = parseVerifier(text) ?? unfitVerifier(this.#ports.secret, role);
      return oid ? { ...verifier, oid } : verifier;
    };
    return this.#turns.take(endpoint.id, ask, from);
  }

  /** The rows of a query, which must not change any data. Rejects with `ServerFailed`. */
  ask({ endpoint, server, config }: Running, sql: string): Promise<readonly TextRow[]> {
    return this.#turns.take(endpoint.id, async () => {
      const session = this.#sessions.get(server) ?? (await this.#open(server, config));
      return session.query(sql);
    });
  }

  async #open(server: PostgresServer, config: ServerConfig): Promise<SqlClient> {
    const session = await this.#ports.sessions.open(config, "postgres");
    this.#sessions.set(server, session);
    void session.closed.then(() => this.#sessions.delete(server));
    return session;
  }
}
