import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { BranchData } from "../store/branch-data.ts";
import { Attempts } from "./attempts.ts";
import { superuser } from "./config.ts";
import { type Connected, insideDatabase } from "./inside-database.ts";
import { guardOutputPlugins } from "./output-plugins.ts";
import { rollBackChangesOfRoles, rollBackPrepared } from "./prepared.ts";
import {
  privilegedAttributes,
  privilegedRole,
  putPrivilegedRole,
  type Session,
  serverVersion,
} from "./privileged-role.ts";
import { identifier, literal } from "./quoting.ts";
import { scramVerifier } from "./scram.ts";

const CatalogRole = z.object({
  name: z.string(),
  login: z.boolean(),
  /** Tells one password from the next. */
  passwordSource: z.string(),
});

const CatalogDatabase = z.object({ id: z.number(), name: z.string(), ownerName: z.string() });

/** The rights that roles are given; data whose roles have others is brought up to date. */
export const currentRights = 4;

/** The roles and databases that the API knows of a branch. */
export const BranchCatalog = z.object({
  rights: z.number().default(1),
  roles: z.array(CatalogRole),
  databases: z.array(CatalogDatabase),
});
export type BranchCatalog = z.infer<typeof BranchCatalog>;

/** Of a database in a copy whose row in the store is not known: its name is what counts. */
export const unknownId = 0;

/** The source of the password of a role that is to be brought. */
export const notBrought = "";

export const emptyCatalog: BranchCatalog = { rights: 0, roles: [], databases: [] };

/** The roles and databases that were brought into the data of a branch. */
export function broughtInto({ catalog }: Pick<BranchData, "catalog">): BranchCatalog {
  return BranchCatalog.parse(JSON.parse(catalog));
}

export interface SyncPlan {
  /** The roles and databases that were brought into the branch's server before, by us or by its parent's. */
  applied: BranchCatalog;
  wanted: BranchCatalog;
  passwordOf: (passwordSource: string) => string;
  connect: (database: string) => Promise<Session>;
  /** Ends the sessions of these roles, or of all, at the branch's computes; `primary` is a session at its server. */
  logOut: (primary: Session, roles: readonly string[] | undefined) => Promise<void>;
}

/**
 * Brings the roles and databases that the API knows into a server: what it made and no longer knows is dropped. What
 * clients made with SQL stays. Each step can be repeated, so a crash in between does no harm. Logins and passwords go
 * first, and what one role or database fails at keeps no other one; the first failure is thrown at the end.
 */
export async function syncCatalog(plan: SyncPlan): Promise<void> {
  using client = await plan.connect("postgres");
  const attempts = new Attempts(client);
  const existing = await namesIn(client);
  const gone = await putLogins(client, plan, existing.roles, attempts);
  const version = await serverVersion(client);
  const outdated = plan.applied.rights < plan.wanted.rights || !existing.roles.has(privilegedRole);
  if (outdated) {
    await guardOutputPlugins({ client, connect: plan.connect });
    await putPrivilegedRole(client, version, existing.roles.has(privilegedRole));
    // Data of an earlier version has one.
    await client.query(`ALTER ROLE ${superuser} PASSWORD NULL`);
  }
  for (const role of plan.wanted.roles) {
    const exists = existing.roles.has(role.name);
    if (exists && !outdated) continue;
    await attempts.make(async () => {
      await putRights({ client, connect: plan.connect }, role.name, version, exists);
      if (!exists) await putPassword(client, role, exists, plan);
    });
  }
  await putDatabases(client, plan, existing.databases, { outdated, attempts });
  for (const { name } of gone) await attempts.make(() => dropRole(client, name, plan));
  attempts.end();
}

/** Brings only the logins and passwords of roles that the server has, and ends those of roles that are gone. */
export async function syncLogins(plan: SyncPlan): Promise<void> {
  using client = await plan.connect("postgres");
  const attempts = new Attempts(client);
  await putLogins(client, plan, (await namesIn(client)).roles, attempts);
  attempts.end();
}

/**
 * Ends the sessions of roles that are gone, and after a reset of a password those of all, as the public service does.
 * Answers the roles of the server that are to be dropped.
 */
async function putLogins(
  client: Session,
  plan: SyncPlan,
  existing: ReadonlySet<string>,
  attempts: Attempts,
): Promise<BranchCatalog["roles"]> {
  const kept = new Set(plan.wanted.roles.map(({ name }) => name));
  const gone = plan.applied.roles.filter(({ name }) => !kept.has(name) && existing.has(name));
  for (const { name } of gone)
    await attempts.make(() =>
      changeRole({ client, connect: plan.connect }, `ALTER ROLE ${identifier(name)} NOLOGIN PASSWORD NULL`),
    );
  for (const role of plan.wanted.roles)
    if (existing.has(role.name)) await attempts.make(() => putPassword(client, role, true, plan));
  const isReset = plan.wanted.roles.some((role) => {
    const { passwordSource = notBrought } = plan.applied.roles.find(({ name }) => name === role.name) ?? {};
    return ![notBrought, role.passwordSource].includes(passwordSource);
  });
  if (!isReset && gone.length === 0) return gone;
  const names = isReset ? undefined : gone.map(({ name }) => name);
  return (await attempts.make(() => plan.logOut(client, names))) ? gone : [];
}

/**
 * Makes or changes a role. A role may change its own password, and one that does so in a transaction without an end
 * would keep the password that was stolen: a session that stands in the way is ended, and a prepared transaction rolled
 * back.
 */
async function changeRole({ client, connect }: Connected, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch {
    await client.query(endChangesOfRoles);
    await rollBackChangesOfRoles({ client, connect });
    await client.query(statement);
  }
}

/** Ends the sessions that have changed a role in a transaction that is still open. */
const endChangesOfRoles = `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks
  WHERE relation = 'pg_authid'::regclass AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()`;

async function namesIn(client: Session): Promise<{ roles: Set<string>; databases: Set<string> }> {
  const names = async (sql: string) => new Set((await client.query(sql)).map(([name]) => name ?? ""));
  return {
    roles: await names("SELECT rolname FROM pg_roles"),
    databases: await names("SELECT datname FROM pg_database"),
  };
}

/** Makes a role with the rights of the API's roles, or gives them to one of an earlier version of the service. */
async function putRights(connected: Connected, name: string, version: number, exists: boolean): Promise<void> {
  const role = identifier(name);
  const verb = exists ? "ALTER" : "CREATE";
  await changeRole(connected, `${verb} ROLE ${role} NOSUPERUSER ${privilegedAttributes(version)}`);
  await connected.client.query(`GRANT ${privilegedRole} TO ${role}`);
}

async function putPassword(
  client: Session,
  role: BranchCatalog["roles"][number],
  exists: boolean,
  { applied, passwordOf, connect }: SyncPlan,
): Promise<void> {
  const name = identifier(role.name);
  const before = applied.roles.find((one) => one.name === role.name);
  if (exists && before?.passwordSource === role.passwordSource && before.login === role.login) return;
  const verifier = await scramVerifier(passwordOf(role.passwordSource));
  const login = role.login ? `LOGIN PASSWORD '${verifier}'` : "NOLOGIN";
  await changeRole({ client, connect }, `ALTER ROLE ${name} ${login}`);
}

async function putDatabases(
  client: Session,
  { applied, wanted }: SyncPlan,
  existing: Set<string>,
  { outdated, attempts }: { outdated: boolean; attempts: Attempts },
): Promise<void> {
  const wantedNames = new Set(wanted.databases.map(({ name }) => name));
  const wantedIds = new Set(wanted.databases.map(({ id }) => id));
  for (const { id, name } of applied.databases) {
    // Another one may have the name by now.
    const isWanted = id === unknownId ? wantedNames.has(name) : wantedIds.has(id);
    if (isWanted || !existing.delete(name)) continue;
    await attempts.make(() => client.query(`DROP DATABASE ${identifier(name)} WITH (FORCE)`));
  }
  const renames = renamesOf(applied, wanted, existing);
  await attempts.make(() => renameDatabases(client, renames));
  for (const { name, ownerName } of wanted.databases) {
    const [database, owner] = [identifier(name), identifier(ownerName)];
    const exists = existing.has(name);
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
  for (const { from } of renames) await disconnectAll(client, from);
  await client.query(
    [
      ...steps.map(({ from, via }) => `ALTER DATABASE ${from} RENAME TO ${via}`),
      ...steps.map(({ via, to }) => `ALTER DATABASE ${via} RENAME TO ${to}`),
    ].join("; "),
  );
}

async function disconnectAll(client: Session, database: string): Promise<void> {
  await client.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname =${literal(database)} AND pid <> pg_backend_pid()`,
  );
}

/**
 * Drops a role. Its objects go to the owner of the database that they are in, but never to our own role, as which its
 * functions would run: objects in a database of ours are temporary, and are dropped. A role with a database stays for
 * that, without a login.
 */
async function dropRole(client: Session, name: string, { connect }: SyncPlan): Promise<void> {
  const role = identifier(name);
  const databases = await client.query(databasesOfAll);
  if (databases.some(([, owner]) => owner === name)) return;
  for (const [database, owner, closed, limit] of databases) {
    if (limit === leftOfDrop) continue;
    await insideDatabase({ client, connect }, { name: database ?? "", closed, limit }, async (inside) => {
      // The role alone could roll them back, and their locks would keep it from being dropped.
      await rollBackPrepared(inside, `owner =${literal(name)}`);
      if (owner !== superuser) await inside.query(`REASSIGN OWNED BY ${role} TO ${identifier(owner ?? "")}`);
      await inside.query(`DROP OWNED BY ${role}`);
    });
  }
  await client.query(`DROP ROLE ${role}`);
}

/** The limit of what is left of a database that was dropped. */
const leftOfDrop = "-2";

/** Also those that clients have closed to connections. */
const databasesOfAll = `SELECT datname, pg_get_userbyid(datdba), NOT datallowconn, datconnlimit FROM pg_database
  WHERE datname <> 'template0'`;
