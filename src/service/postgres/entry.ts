import { endAll } from "./session/end-sessions.ts";
import { cutName, identifier, literal } from "./session/quoting.ts";
import { Rejection } from "./session/rejection.ts";
import type { TextRow } from "./session/sql-client.ts";

/**
 * Rejects with `Rejection` where a role may not enter a database, or that is not there. Postgres looks only as a
 * session begins: PgBouncer goes on with one that is open, and where none can be, its clients wait for two minutes.
 */
export async function refuseBarred(
  ask: (sql: string) => Promise<readonly TextRow[]>,
  role: string,
  given: string,
): Promise<void> {
  const database = cutName(given);
  const [found] = await ask(`SELECT datallowconn AND has_database_privilege(rolname, d.oid, 'CONNECT')
      AND datconnlimit NOT IN (0, -2) AND rolconnlimit <> 0
    FROM pg_database d, pg_roles WHERE rolname =${literal(role)} AND datname =${literal(database)}`);
  if (!found) throw new Rejection("3D000", `database ${identifier(database)} does not exist`);
  if (found[0] !== "t") throw new Rejection("42501", `permission denied for database ${identifier(database)}`);
}

/** Ends the sessions of a role, by its number, whose name is another one's by now, and first those of its clients. */
export async function endRole(
  oid: string,
  query: (sql: string) => Promise<readonly TextRow[]>,
  logOut: () => void,
): Promise<void> {
  logOut();
  await endAll({ query }, `usesysid = ${Number(oid)}`);
}
