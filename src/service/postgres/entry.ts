import { cutName, identifier, literal } from "./session/quoting.ts";
import { Rejection } from "./session/rejection.ts";
import type { TextRow } from "./session/sql-client.ts";

/**
 * Rejects with `Rejection` where a role may not enter a database. Postgres looks only as a session begins, and
 * PgBouncer goes on with one that is open.
 */
export async function refuseBarred(
  ask: (sql: string) => Promise<readonly TextRow[]>,
  role: string,
  given: string,
): Promise<void> {
  const database = cutName(given);
  const barred = await ask(`SELECT FROM pg_database WHERE datname =${literal(database)}
    AND NOT (datallowconn AND has_database_privilege(${literal(role)}, oid, 'CONNECT'))`);
  if (barred.length > 0) throw new Rejection("42501", `permission denied for database ${identifier(database)}`);
}
