import { randomBytes } from "node:crypto";
import type { Attempts } from "./attempts.ts";
import { type BranchCatalog, unknownId } from "./branch-catalog.ts";
import { endAll } from "./end-sessions.ts";
import { privilegedRole, type Session } from "./privileged-role.ts";
import { identifier, literal } from "./quoting.ts";

interface Catalogs {
  applied: BranchCatalog;
  wanted: BranchCatalog;
}

/** Brings the databases that the API knows into a server. */
export async function putDatabases(
  client: Session,
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
    await attempts.make(() => dropDatabase(client, name));
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
  let renames = wanted.databases.flatMap(({ id, name }): Rename[] => {
    const before = applied.databases.find((one) => one.id === id && existing.has(one.name));
    return before && before.name !== name ? [{ from: before.name, to: name }] : [];
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
  for (const { from } of renames) await endAll(client, `datname =${literal(from)}`);
  await client.query(
    [
      ...steps.map(({ from, via }) => `ALTER DATABASE ${from} RENAME TO ${via}`),
      ...steps.map(({ via, to }) => `ALTER DATABASE ${via} RENAME TO ${to}`),
    ].join("; "),
  );
}

/**
 * Drops a database. Each session of the server has to take note of that, and one whose client reads nothing of a long
 * result does not: it is ended after a while, as is one that replicates from the database. Where another one computes
 * without a pause, the drop is given up.
 */
async function dropDatabase(client: Session, name: string): Promise<void> {
  const statement = `DROP DATABASE ${identifier(name)} WITH (FORCE)`;
  await client.query(`SET statement_timeout = '${dropLimit}'`);
  try {
    await client.query(statement);
  } catch {
    await endAll(client, `(wait_event = 'ClientWrite' OR datname =${literal(name)})`);
    await client.query(statement);
  } finally {
    await client.query("SET statement_timeout = 0");
  }
}

const dropLimit = "10s";
