import { type Connected, hasRules, insideDatabases } from "./inside-database.ts";
import type { Session } from "./privileged-role.ts";

/** In ASCII: it may be no text here, and no statement of the server's own can run this one. */
const escapedGid = `'E''' || regexp_replace(encode(convert_to(gid, getdatabaseencoding()), 'hex'), '(..)', '\\\\x\\1', 'g')
  || ''''`;

/** Rolls back the prepared transactions of a session's database, or those of which a condition holds. */
export async function rollBackPrepared(inside: Session, condition = "true"): Promise<void> {
  const statements = await inside.query(`SELECT 'ROLLBACK PREPARED ' || ${escapedGid} FROM pg_prepared_xacts
    WHERE database = current_database() AND ${condition}`);
  for (const [statement] of statements) await inside.query(statement ?? "");
}

/** Rolls back the prepared transactions of all databases of which a condition holds. */
export async function rollBackPreparedThat(connected: Connected, condition: string): Promise<void> {
  const theirs = `datname IN (SELECT database FROM pg_prepared_xacts WHERE ${condition})`;
  await insideDatabases(connected, theirs, (inside) => rollBackPrepared(inside, condition));
}

/**
 * The ids of prepared transactions that no session can end: their database is closed to connections, or has rules that
 * are put aside to open it, and they may have changed or locked the row that says so, which is theirs until they end.
 */
export async function unreachablePrepared(connect: Connected["connect"]): Promise<string[]> {
  using server = await connect("postgres");
  const rows = await server.query(`SELECT transaction FROM pg_prepared_xacts
    JOIN pg_database ON datname = database AND (NOT datallowconn OR ${hasRules})
    JOIN pg_locks own ON own.transactionid = transaction AND own.pid IS NULL
    JOIN pg_locks held USING (virtualtransaction)
    WHERE held.relation = 'pg_database'::regclass AND held.mode <> 'AccessShareLock'`);
  return rows.map(([id]) => id ?? "");
}
