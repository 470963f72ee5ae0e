import { type Connected, insideDatabase } from "./inside-database.ts";
import type { Session } from "./privileged-role.ts";

/** Rolls back the prepared transactions of a session's database, or those of which a condition holds. */
export async function rollBackPrepared(inside: Session, condition = "true"): Promise<void> {
  const statements = await inside.query(`SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts
    WHERE database = current_database() AND ${condition}`);
  for (const [statement] of statements) await inside.query(statement ?? "");
}

/** Rolls back the prepared transactions of all databases of which a condition holds. */
export async function rollBackPreparedThat(connected: Connected, condition: string): Promise<void> {
  const databases = `SELECT datname, NOT datallowconn, datconnlimit FROM pg_database
    WHERE datname IN (SELECT database FROM pg_prepared_xacts WHERE ${condition})`;
  for (const [name, closed, limit] of await connected.client.query(databases)) {
    await insideDatabase(connected, { name: name ?? "", closed, limit }, (inside) =>
      rollBackPrepared(inside, condition),
    );
  }
}
