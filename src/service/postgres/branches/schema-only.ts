import { randomBytes } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { limited, type ServiceClock } from "../../clock.ts";
import { checkpointOf, isCleanlyStopped } from "../data/backup.ts";
import { preparedIn } from "../data/prepared-files.ts";
import { isSegment, placeAt, placeOf } from "../data/segments.ts";
import { eachFile } from "../host/each-file.ts";
import { ServerFailed } from "../host/failure.ts";
import { enabled, notOfExtension, ownSchemas, relations } from "../schema/kind.ts";
import { smallest } from "../server/config.ts";
import type { OwnServer } from "../server/own-server.ts";
import { putRulesAside } from "../session/inside-database.ts";
import { rollBackPrepared } from "../session/prepared.ts";
import { privilegedRole } from "../session/privileged-role.ts";
import { identifier } from "../session/quoting.ts";
import { makeNamesReadable } from "../session/readable-names.ts";
import { scramVerifier } from "../session/scram.ts";
import { type SqlClient } from "../session/sql-client.ts";
import { runWritten } from "../session/written.ts";

/** A role for one copy: it has the rights of the clients' roles there, and is no superuser. */
interface Copier {
  user: string;
  password: string;
}

/**
 * Longest time for a copy to lose its rows, in milliseconds: as a table is emptied, its index calls a client's function
 * that it has with constants, and this may never end.
 */
const limitMs = 600_000;

/**
 * Leaves nothing in the data of a copy but its schema; `serve` runs a server of these settings on it. Rejects where
 * that takes too long.
 */
export async function makeSchemaOnly(
  data: string,
  serve: (settings: Readonly<Record<string, string>>) => Promise<OwnServer>,
  clock: Pick<ServiceClock, "after">,
): Promise<void> {
  // Data with prepared transactions remembers the places that they needed until a server runs without them.
  const prepared = (await preparedIn(data)).length > 0;
  let files = 0;
  await eachFile(data, async () => void (files += 1));
  // All tables are emptied at once, as keys refer to others: each is locked, and what belongs to it.
  const max_locks_per_transaction = String(Math.max(64, Math.ceil(files / smallest.maxConnections)));
  // A worker of autovacuum would keep what it may still see.
  const server = await serve({ autovacuum: "off", max_locks_per_transaction });
  let isLate = false;
  const end = () => {
    isLate = true;
    void server.stop();
  };
  try {
    await limited(clock, limitMs, end, keepSchemaOnly(server));
  } catch (error) {
    const late = "its rows were not gone after ten minutes: a function in an index may never end";
    throw isLate ? new ServerFailed(late, { cause: error }) : error;
  } finally {
    await server.stop();
  }
  // A server that is not through with its checkpoint after ten seconds ends without one, and needs its log once more.
  if (prepared || !(await isCleanlyStopped(data))) await (await serve({})).stop();
  if (!(await isCleanlyStopped(data))) throw new ServerFailed("the server on it did not stop in time: try again");
  await forgetLog(data);
}

/**
 * Leaves nothing in a copy but its schema: no rows, no materialised data, no large objects, no statistics, no prepared
 * transactions, and sequences where they start. Objects of clients are touched by a role that has their owners' rights
 * and no more, and no trigger fires; the superuser's sessions touch the catalogues alone.
 */
async function keepSchemaOnly(server: OwnServer): Promise<void> {
  const copier = { user: `cloud_copier_${randomBytes(8).toString("hex")}`, password: randomBytes(24).toString("hex") };
  const role = copier.user;
  using admin = await server.connect("postgres");
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD '${await scramVerifier(copier.password)}'`);
  await makeNamesReadable(admin);
  await admin.query(putRulesAside(true));
  const all = await admin.query(databases);
  // In all databases before the others' rows go: until then, what is deleted anywhere is kept. Prepared transactions
  // hold rows, and locks that would hold everything up.
  for (const [name] of all) {
    await admin.query(`ALTER DATABASE ${identifier(name ?? "")} ALLOW_CONNECTIONS true CONNECTION LIMIT -1`);
    using inside = await server.connect(name ?? "");
    await rollBackPrepared(inside);
  }
  for (const [name, closed, limit] of all) {
    const database = identifier(name ?? "");
    await emptyDatabase(server, name ?? "", copier);
    await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS ${closed !== "t"} CONNECTION LIMIT ${limit}`);
  }
  await admin.query(putRulesAside(false));
  await admin.query(`DROP ROLE ${role}`);
  await admin.query("SELECT pg_switch_wal()");
  // Of tens of thousands of files it takes longer than a server has for its end.
  await admin.query("CHECKPOINT");
}

/**
 * Removes the log of data whose server has stopped, but for its last segment: rows are in it, as in files. Its marks go
 * too, which would have the history wait for segments that are not there.
 */
async function forgetLog(data: string): Promise<void> {
  const last = placeAt(await checkpointOf(data));
  const directory = join(data, "pg_wal");
  for (const name of await readdir(directory)) {
    if (isSegment(name) && placeOf(name) !== last) await rm(join(directory, name));
  }
  const statuses = join(directory, "archive_status");
  for (const name of await readdir(statuses)) await rm(join(statuses, name));
}

/** Also those that clients have closed to connections; -2 marks what is left of a database that was dropped. */
const databases = `SELECT datname, NOT datallowconn, datconnlimit FROM pg_database
  WHERE datname <> 'template0' AND datconnlimit <> -2`;

async function emptyDatabase(server: OwnServer, database: string, copier: Copier): Promise<void> {
  using admin = await server.connect(database);
  await runWritten(admin, [rightsOf(copier.user)]);
  await emptyRelations(server.connect(database, copier));
  await admin.query(`DROP OWNED BY ${copier.user}`);
  let unlinked: number;
  do unlinked = (await admin.query(unlinkSome)).length;
  while (unlinked > 0);
  await admin.query("DELETE FROM pg_statistic; DELETE FROM pg_statistic_ext_data; SELECT pg_stat_reset()");
  // A client may replicate, and so read files: what was deleted must not lie in them.
  for (const name of ["pg_largeobject", "pg_largeobject_metadata", "pg_statistic", "pg_statistic_ext_data"]) {
    await admin.query(`VACUUM FULL ${name}`);
  }
}

async function emptyRelations(connecting: Promise<SqlClient>): Promise<void> {
  using client = await connecting;
  await runWritten(client, [triggers("'DISABLE'"), emptied, triggers(enabled("tgenabled"))], true);
  await runWritten(client, [derivedData]);
}

/** Relations of clients. What an extension has brought along belongs to the superuser, and stays. */
const clientRelations = `(SELECT c.oid, relkind, relowner, nspowner, n.oid AS space, nspname, relname FROM ${relations}
  WHERE relkind IN ('r', 'p', 'm', 'S') AND ${ownSchemas}
  AND (NOT rolsuper OR ${notOfExtension("pg_class", "c.oid")})) relation`;

/**
 * Makes the copier one with all owners, and gives it the rights that an owner has taken from itself. Of Postgres's own
 * roles an owner may be one that clients have, by the privileged role.
 */
function rightsOf(copier: string): string {
  return `SELECT format('GRANT %I TO ${copier}', rolname) FROM pg_roles
      WHERE rolname = '${privilegedRole}' OR NOT rolsuper AND rolname !~ '^pg_' AND oid IN (
      SELECT relowner FROM ${clientRelations} UNION SELECT nspowner FROM ${clientRelations}
      UNION SELECT datdba FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT format('GRANT CONNECT ON DATABASE %I TO ${copier}', current_database())
    UNION ALL SELECT DISTINCT format('GRANT USAGE ON SCHEMA %I TO ${copier}', nspname) FROM ${clientRelations}
      JOIN pg_roles r ON r.oid = nspowner WHERE rolsuper OR NOT has_schema_privilege(nspowner, space, 'USAGE')
    UNION ALL SELECT format('GRANT ALL ON TABLE %I.%I TO ${copier}', nspname, relname) FROM ${clientRelations}
      WHERE relkind IN ('r', 'p') AND NOT has_table_privilege(relowner, relation.oid, 'TRUNCATE')`;
}

/**
 * Each table alone, and partitioned ones with a key, as what that refers to is emptied only beside them; but none with
 * a partition on another server: that keeps its rows.
 */
const emptied = `SELECT 'TRUNCATE '
    || string_agg(format(CASE relkind WHEN 'r' THEN 'ONLY %I.%I' ELSE '%I.%I' END, nspname, relname), ', ')
  FROM ${clientRelations} WHERE relkind = 'r' OR relkind = 'p'
    AND EXISTS (SELECT FROM pg_constraint WHERE conrelid = relation.oid AND contype = 'f')
    AND NOT EXISTS (SELECT FROM pg_partition_tree(relation.oid) t
      WHERE 'f' = (SELECT f.relkind FROM pg_class f WHERE f.oid = t.relid))
  HAVING count(*) > 0`;

/** A change of each trigger that fires when a table is truncated. */
function triggers(change: string): string {
  return `SELECT format('ALTER TABLE ONLY %I.%I %s TRIGGER %I', nspname, relname, ${change}, tgname)
    FROM ${clientRelations} JOIN pg_trigger ON tgrelid = relation.oid
    WHERE tgtype & 32 <> 0 AND NOT tgisinternal`;
}

/** Objects made of rows: materialised views, and the positions of sequences. */
const derivedData = `SELECT format(CASE relkind WHEN 'm' THEN 'REFRESH MATERIALIZED VIEW %I.%I WITH NO DATA'
  ELSE 'ALTER SEQUENCE %I.%I RESTART' END, nspname, relname) FROM ${clientRelations} WHERE relkind IN ('m', 'S')`;

/** Not all in one transaction, which locks each. */
const unlinkSome = "SELECT lo_unlink(oid) FROM (SELECT oid FROM pg_largeobject_metadata LIMIT 1000) batch";
