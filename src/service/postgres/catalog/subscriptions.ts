import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { OwnServer } from "../server/own-server.ts";
import { type Connected, insideDatabases } from "../session/inside-database.ts";
import { privilegedRole, type Session, serverVersion } from "../session/privileged-role.ts";
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

/**
 * Has clients make subscriptions where none leads further than their branch, and drops all where they may have none. To
 * be asked at each start of a server: the libpq of the machine, which decides it, may be another one than before.
 */
export async function guardSubscriptions(connected: Connected): Promise<void> {
  if ((await serverVersion(connected.client)) >= 160_000) await connected.client.query(putRight);
  const mayHave = `EXISTS (SELECT FROM pg_auth_members JOIN pg_roles ON pg_roles.oid = roleid
    WHERE rolname = 'pg_create_subscription' AND member = '${privilegedRole}'::regrole)`;
  await insideDatabases(connected, `${withSubscriptions} AND NOT ${mayHave}`, dropSubscriptions);
}

/**
 * The right exists from Postgres 16 on. With a libpq of 18 or later the connection of a subscription may name a file
 * that the server writes (`sslkeylogfile`), and no client may touch the server's files. Earlier servers may have such a
 * libpq too, as in the image: each is asked whether it knows the word.
 */
const putRight = `DO $$
  BEGIN
    CREATE SUBSCRIPTION probe CONNECTION 'sslkeylogfile=x unknown=x' PUBLICATION p WITH (connect = false);
  EXCEPTION WHEN syntax_error THEN
    -- The first word that it does not know. The catalogue stays empty, which has copies lose no time with it.
    IF strpos(SQLERRM, 'sslkeylogfile') > 0 THEN GRANT pg_create_subscription TO ${privilegedRole};
    ELSE REVOKE pg_create_subscription FROM ${privilegedRole}; END IF;
  END $$`;

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
