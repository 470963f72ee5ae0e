import { type Connected, insideDatabase } from "./inside-database.ts";
import type { Session } from "./privileged-role.ts";

/** Rolls back the prepared transactions of a session's database, or those of which a condition holds. */
export async function rollBackPrepared(inside: Session, condition = "true"): Promise<void> {
  const statements = await inside.query(`SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts
    WHERE database = current_database() AND ${condition}`);
  for (const [statement] of statements) await inside.query(statement ?? "");
}

/** Rolls back the prepared transactions that have changed a role: they have no session that could be ended. */
export async function rollBackChangesOfRoles(connected: Connected): Promise<void> {
  for (const [name, closed, limit] of await connected.client.query(databases)) {
    const one = { name: name ?? "", closed, limit };
    await insideDatabase(connected, one, (inside) => rollBackPrepared(inside, `transaction IN (${changesOfRoles})`));
  }
}

/** The locks of a prepared transaction have no process, and one of them is on itself. */
const changesOfRoles = `SELECT own.transactionid FROM pg_locks own JOIN pg_locks held USING (virtualtransaction)
  WHERE own.pid IS NULL AND held.pid IS NULL AND own.locktype = 'transactionid'
  AND held.relation = 'pg_authid'::regclass AND held.mode = 'RowExclusiveLock'`;

const databases = `SELECT datname, NOT datallowconn, datconnlimit FROM pg_database
  WHERE datname IN (SELECT database FROM pg_prepared_xacts WHERE transaction IN (${changesOfRoles}))`;
