import { type Connected, insideDatabases } from "../session/inside-database.ts";
import { runWritten } from "../session/written.ts";

/**
 * Drops all subscriptions at a server: an earlier version let clients have some, and their owners give them other
 * connections. What they have at their publishers stays.
 */
export async function dropSubscriptions(connected: Connected): Promise<void> {
  // For a table that is still copied, the drop would connect to the server that the client has named.
  const steps = `VALUES (1, 'ALTER SUBSCRIPTION %I DISABLE'), (2, 'ALTER SUBSCRIPTION %I SET (slot_name = NONE)'),
    (3, 'DELETE FROM pg_subscription_rel WHERE srsubid = %2$s'), (4, 'DROP SUBSCRIPTION %I')`;
  const drops = `SELECT format(step, subname, s.oid) FROM pg_subscription s, (${steps}) steps (place, step)
    WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY s.oid, place`;
  const withSome = "oid IN (SELECT subdbid FROM pg_subscription)";
  await insideDatabases(connected, withSome, (inside) => runWritten(inside, [drops]));
}
