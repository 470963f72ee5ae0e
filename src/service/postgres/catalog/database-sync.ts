import { randomBytes } from "node:crypto";
import { messageOf } from "../../error-message.ts";
import { Held, ServerFailed } from "../host/failure.ts";
import { endAll } from "../session/end-sessions.ts";
import { type Connected, insideDatabase } from "../session/inside-database.ts";
import { rollBackPrepared } from "../session/prepared.ts";
import { privilegedRole, type Session } from "../session/privileged-role.ts";
import { identifier, literal } from "../session/quoting.ts";
import type { Attempts } from "./attempts.ts";
import { type BranchCatalog, unknownId } from "./branch-catalog.ts";

interface Catalogs {
  applied: BranchCatalog;
  wanted: BranchCatalog;
}

/** Brings the databases that the API knows into a server. */
export async function putDatabases(
  { client, connect }: Connected,
  { applied, wanted }: Catalogs,
  existing: Set<string>,
  { outdated, attempts }: { outdated: boolean; attempts: Attempts },
): Promise<void> {
  const wantedNames = new Set(wanted.databases.map(({ name }) => name));
  const wantedIds = new Set(wanted.databases.map(({ id }) => id));
  for (const { id, name } of applied.databases) {
    // Another one may have the name by now.
    const isWanted = id === unknownId ? wantedNames.has(name) : wantedIds.has(id);
    if (isWanted || !existing.delete(name)) continue;
    await attempts.make(() => dropDatabase({ client, connect }, name));
  }
  const renames = renamesOf(applied, wanted, existing);
  await attempts.make(() => renameDatabases(client, renames));
  const owners = new Map((await client.query(ownersOfAll)).map(([name, owner]) => [name, owner]));
  for (const { name, ownerName } of wanted.databases) {
    const [database, owner] = [identifier(name), identifier(ownerName)];
    const exists = existing.has(name);
    if (exists && !outdated && owners.get(name) === ownerName) continue;
    await attempts.make(async () => {
      // Of template0, where no client can have a session that stands in the way.
      await client.query(
        exists
          ? `ALTER DATABASE ${database} OWNER TO ${owner}`
          : `CREATE DATABASE ${database} OWNER ${owner} TEMPLATE template0`,
      );
      if (!exists || outdated) await client.query(`GRANT ALL PRIVILEGES ON DATABASE ${database} TO ${privilegedRole}`);
    });
  }
}

const ownersOfAll = "SELECT datname, pg_get_userbyid(datdba) FROM pg_database";

interface Rename {
  from: string;
  to: string;
}

/** Renames to be made: none takes the name of a database that keeps it. `existing` becomes what is there then. */
function renamesOf(applied: BranchCatalog, wanted: BranchCatalog, existing: Set<string>): Rename[] {
  const before = new Map(applied.databases.map(({ id, name }) => [id, name]));
  let renames = wanted.databases.flatMap(({ id, name: to }): Rename[] => {
    const from = before.get(id);
    return from !== undefined && from !== to && existing.has(from) ? [{ from, to }] : [];
  });
  for (let all = -1; all !== renames.length; ) {
    all = renames.length;
    const leaving = new Set(renames.map(({ from }) => from));
    renames = renames.filter(({ to }) => !existing.has(to) || leaving.has(to));
  }
  for (const { from } of renames) existing.delete(from);
  for (const { to } of renames) existing.add(to);
  return renames;
}

/** Renames databases at once: one may take the name that another one leaves. */
async function renameDatabases(client: Session, renames: readonly Rename[]): Promise<void> {
  if (renames.length === 0) return;
  const between = (index: number) => identifier(`renamed_${index}_${randomBytes(8).toString("hex")}`);
  const steps = renames.map(({ from, to }, index) => ({
    from: identifier(from),
    via: between(index),
    to: identifier(to),
  }));
  // Prepared transactions outlive their sessions, and a start of the server too.
  const prepared = await client.query("SELECT database FROM pg_prepared_xacts");
  const kept = renames.find(({ from }) => prepared.some(([name]) => name === from));
  if (kept) throw new ServerFailed(`database ${identifier(kept.from)} has a prepared transaction: end that first`);
  for (const { from } of renames) await endAll(client, `datname =${literal(from)}`);
  await client.query(
    [
      ...steps.map(({ from, via }) => `ALTER DATABASE ${from} RENAME TO ${via}`),
      ...steps.map(({ via, to }) => `ALTER DATABASE ${via} RENAME TO ${to}`),
    ].join("; "),
  );
}

/**
 * Drops a database with what keeps one: a client may have marked it as a template, and have left prepared transactions
 * and slots that are read in it. Rejects with `Held` where a client keeps it all the same.
 */
export async function dropDatabase(connected: Connected, name: string): Promise<void> {
  const { client } = connected;
  try {
    const [row] = await client.query(`SELECT datistemplate,
      datname IN (SELECT database FROM pg_prepared_xacts),
      datname IN (SELECT database FROM pg_replication_slots WHERE active)
      FROM pg_database WHERE datname =${literal(name)}`);
    const [isTemplate, isKept, isRead] = row ?? [];
    if (isTemplate === "t") await client.query(`ALTER DATABASE ${identifier(name)} IS_TEMPLATE false`);
    if (isKept === "t") await insideDatabase(connected, name, (inside) => rollBackPrepared(inside));
    if (isRead === "t") await endAll(client, `datname =${literal(name)}`);
    await client.query(`DROP DATABASE IF EXISTS ${identifier(name)} WITH (FORCE)`);
  } catch (error) {
    throw new Held(messageOf(error), { cause: error });
  }
}
