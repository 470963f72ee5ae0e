import type { Session } from "./privileged-role.ts";

/**
 * Ends the other sessions of a server of which a condition holds: tells all at once, and then waits for their ends, for
 * some seconds in all. One that computes without a pause ends after that.
 */
export async function endAll(server: Pick<Session, "query">, condition: string): Promise<void> {
  const those = `FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${condition}`;
  await server.query(`SELECT pg_terminate_backend(pid) ${those}`);
  await server.query(`SELECT CASE WHEN clock_timestamp() < statement_timestamp() + interval '4 s'
    THEN pg_terminate_backend(pid, 4000) END ${those}`);
}
