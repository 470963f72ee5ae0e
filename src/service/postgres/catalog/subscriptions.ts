import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { OwnServer } from "../server/own-server.ts";
import { type Connected, insideDatabases } from "../session/inside-database.ts";
import { privilegedRole, type Session } from "../session/privileged-role.ts";
import { makeNamesReadable } from "../session/readable-names.ts";
import { runWritten } from "../session/written.ts";

/** Drops the subscriptions of a session's database. What they have at their publishers stays. */
export async function dropSubscriptions(inside: Session): Promise<void> {
  // For a table that is still copied, the drop would connect to the server that the client has named.
  const steps = `VALUES (1, 'ALTER SUBSCRIPTION %I DISABLE'), (2, 'ALTER SUBSCRIPTION %I SET (slot_name = NONE)'),
    (3, 'DELETE FROM pg_subscription_rel WHERE srsubid = %2$s'), (4, 'DROP SUBSCRIPTION %I')`;
  const drops = `SELECT format(step, subname, s.oid) FROM pg_subscription s, (${steps}) steps (place, step)
    WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY s.oid, place`;
  await runWritten(inside, [drops]);
}

/** Drops all subscriptions at a server where clients may have none, as an earlier version let them. */
export async function dropForbiddenSubscriptions(connected: Connected): Promise<void> {
  const mayHave = `EXISTS (SELECT FROM pg_auth_members JOIN pg_roles ON pg_roles.oid = roleid
    WHERE rolname = 'pg_create_subscription' AND member = '${privilegedRole}'::regrole)`;
  await insideDatabases(connected, `${withSubscriptions} AND NOT ${mayHave}`, dropSubscriptions);
}

const withSubscriptions = "oid IN (SELECT subdbid FROM pg_subscription)";

/** Of all databases; the file is empty where no client has ever made a subscription. */
const catalogue = join("global", "6100");

/**
 * Drops the subscriptions in data that was copied or recovered, as the public service does: two that read one slot get
 * a part each of what the publisher sends, and one of the past lacks what was sent since. `serve` runs a server on it.
 */
export async function forgetSubscriptions(data: string, serve: () => Promise<OwnServer>): Promise<void> {
  const bytes = await stat(join(data, catalogue)).then(
    ({ size }) => size,
    () => 0,
  );
  if (bytes === 0) return;
  const server = await serve();
  try {
    using client = await server.connect("postgres");
    await makeNamesReadable(client);
    const connected = { client, connect: (database: string) => server.connect(database) };
    await insideDatabases(connected, withSubscriptions, dropSubscriptions);
  } finally {
    await server.stop();
  }
}
