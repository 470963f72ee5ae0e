import { endAll } from "./end-sessions.ts";
import { type Session, serverVersion } from "./privileged-role.ts";

/**
 * Ends the sessions whose transactions have more subtransactions than the log lists: a standby that starts takes no
 * connections before their ends. Before Postgres 16 no server says which they are.
 */
export async function endOverflowed(primary: Session): Promise<void> {
  if ((await serverVersion(primary)) < 160_000) return;
  await endAll(
    primary,
    `pid IN (SELECT pg_stat_get_backend_pid(id) FROM pg_stat_get_backend_idset() id, pg_stat_get_backend_subxact(id)
      WHERE subxact_overflowed)`,
  );
  await primary.query("SELECT pg_log_standby_snapshot()");
}
