import { randomBytes } from "node:crypto";
import { messageOf } from "../../error-message.ts";
import { Held } from "../host/failure.ts";
import { endAll } from "../session/end-sessions.ts";
import { insideDatabase } from "../session/inside-database.ts";
import { rollBackPrepared } from "../session/prepared.ts";
import {
  isOurs,
  privilegedAttributes,
  privilegedRole,
  putPrivilegedRole,
  type Session,
  serverVersion,
  superuser,
} from "../session/privileged-role.ts";
import { identifier, literal } from "../session/quoting.ts";
import { scramVerifier } from "../session/scram.ts";
import type { TextRow } from "../session/sql-client.ts";
import { runWritten } from "../session/written.ts";
import { Attempts } from "./attempts.ts";
import { type BranchCatalog, notBrought } from "./branch-catalog.ts";
import { dropDatabase, putDatabases } from "./database-sync.ts";
import { guardDatabases } from "./guards.ts";
import { dropSubscriptions } from "./subscriptions.ts";

export interface SyncPlan {
  /** The roles and databases that were brought into the branch's server before, by us or by its parent's. */
  applied: BranchCatalog;
  wanted: BranchCatalog;
  passwordOf: (passwordSource: string) => string;
  connect: (database: string) => Promise<Session>;
  /** Ends the sessions of these roles, or of all, at the branch's computes; `primary` is a session at its server. */
  logOut: (primary: Session, roles: readonly string[] | undefined) => Promise<void>;
  /** Is told each role whose login the server has as the API shows it. */
  hasLogin: (role: string) => void;
}

/**
 * Brings the roles and databases that the API knows into a server: what it made and no longer knows is dropped. What
 * clients made with SQL stays. Each step can be repeated, so a crash in between does no harm. Logins and passwords go
 * first, and what one role or database fails at keeps no other one; the first failure is thrown at the end.
 */
export async function syncCatalog(plan: SyncPlan): Promise<void> {
  using client = await plan.connect("postgres");
  const attempts = new Attempts(client);
  const existing = await namesIn(client, plan);
  const gone = await putLogins(client, plan, existing.roles, attempts);
  // The rest of a database whose drop was broken off keeps roles and its name, and nobody can enter it.
  for (const [left, isBeingDropped] of await client.query(halfDropped)) {
    const drop = () => dropDatabase({ client, connect: plan.connect }, left ?? "");
    if (isBeingDropped === "t" || (await attempts.make(drop))) existing.databases.delete(left ?? "");
  }
  const version = await serverVersion(client);
  const outdated = plan.applied.rights < plan.wanted.rights || !existing.roles.has(privilegedRole);
  if (outdated) {
    // Before any right: who has one could use it in what is not guarded yet.
    await guardDatabases({ client, connect: plan.connect });
    await putPrivilegedRole(client, version, existing.roles.has(privilegedRole));
    await attempts.make(() => dropSubscriptions({ client, connect: plan.connect }));
    // Data of an earlier version has one.
    await client.query(`ALTER ROLE ${superuser} PASSWORD NULL`);
  }
  for (const role of plan.wanted.roles) {
    const exists = existing.roles.has(role.name);
    if (exists && isBrought(plan, role.name) && !outdated) continue;
    await attempts.make(async () => {
      if (existing.ofClients.has(role.name)) await renameAway(client, role.name);
      await putRights(client, role.name, version, exists);
      if (!exists) await putPassword(client, role, exists, plan);
    });
  }
  await putDatabases({ client, connect: plan.connect }, plan, existing.databases, { outdated, attempts });
  // Anybody may grant to a role, or name it in a policy, in a loop: at a start nobody does.
  for (const { name } of gone) await attempts.make(() => dropRole(client, name, plan).catch(asHeld));
  attempts.end();
}

/** Databases that nobody can enter any more, and whether a client is dropping them at this moment. */
const halfDropped = `SELECT datname, EXISTS (SELECT FROM pg_locks
  WHERE classid = 'pg_database'::regclass AND objid = pg_database.oid AND mode = 'AccessExclusiveLock' AND granted)
  FROM pg_database WHERE datconnlimit = -2`;

/** Brings the logins and passwords of roles alone, as far as that succeeds, and ends those of roles that are gone. */
export async function syncLogins(plan: SyncPlan): Promise<void> {
  using client = await plan.connect("postgres");
  await putLogins(client, plan, (await namesIn(client, plan)).roles, new Attempts(client));
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
): Promise<CatalogRole[]> {
  const kept = new Set(plan.wanted.roles.map(({ name }) => name));
  const gone = plan.applied.roles.filter(({ name }) => !kept.has(name) && existing.has(name));
  for (const { name } of gone)
    await attempts.make(async () => {
      await changeRole(client, `ALTER ROLE ${identifier(name)} NOLOGIN PASSWORD NULL`);
      plan.hasLogin(name);
    });
  for (const role of plan.wanted.roles)
    if (existing.has(role.name)) await attempts.make(() => putPassword(client, role, true, plan));
  const anyReset = plan.wanted.roles.some((role) => {
    const before = plan.applied.roles.find(({ name }) => name === role.name);
    return before && isEnded(before, role);
  });
  if (!anyReset && gone.length === 0) return gone;
  const names = anyReset ? undefined : gone.map(({ name }) => name);
  return (await attempts.make(() => plan.logOut(client, names))) ? gone : [];
}

/** True if a login that was brought holds no more. `after`: `undefined` of a role that is gone. */
function isEnded(before: CatalogRole, after: CatalogRole | undefined): boolean {
  return ![notBrought, after?.passwordSource].includes(before.passwordSource);
}

/** The roles whose logins of before hold no more, by the API: it has deleted them, or reset their passwords. */
export function outdatedLogins({ applied, wanted }: Pick<SyncPlan, "applied" | "wanted">): string[] {
  const after = new Map(wanted.roles.map((role) => [role.name, role]));
  return applied.roles.filter((role) => isEnded(role, after.get(role.name))).map(({ name }) => name);
}

type CatalogRole = BranchCatalog["roles"][number];

/**
 * Makes or changes a role. A role may change its own password: where another session changes the row at this moment,
 * those that change roles are ended. Rejects with `Held` where many change their passwords all the time.
 */
async function changeRole(client: Session, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch {
    await endAll(client, changesRole);
    await client.query(statement).catch(asHeld);
  }
}

function asHeld(error: unknown): never {
  throw new Held(messageOf(error), { cause: error });
}

/** A session that has changed a role in a transaction which is still open. */
const changesRole = `pid IN (SELECT pid FROM pg_locks
  WHERE relation = 'pg_authid'::regclass AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid())`;

/** Names in a server. */
interface Names {
  roles: ReadonlySet<string>;
  /** Of roles that clients have made before the API did. */
  ofClients: ReadonlySet<string>;
  databases: Set<string>;
}

/** The databases of a server, and its roles that the API knows or has known: clients may make a million others. */
async function namesIn(client: Session, plan: SyncPlan): Promise<Names> {
  const known = new Set([privilegedRole, ...[...plan.applied.roles, ...plan.wanted.roles].map(({ name }) => name)]);
  const names = [...known].map(literal).join(", ");
  const rows = await client.query(`SELECT rolname, ${isOurs} FROM pg_roles WHERE rolname IN (${names})`);
  const isKnown = ([name, ours]: TextRow) => ours === "t" || isBrought(plan, name ?? "");
  const namesOf = (of: readonly TextRow[]) => new Set(of.map(([name]) => name ?? ""));
  return {
    roles: namesOf(rows.filter(isKnown)),
    ofClients: namesOf(rows.filter((row) => !isKnown(row))),
    databases: namesOf(await client.query("SELECT datname FROM pg_database")),
  };
}

function isBrought({ applied }: SyncPlan, role: string): boolean {
  const before = applied.roles.find(({ name }) => name === role);
  return before !== undefined && before.passwordSource !== notBrought;
}

/**
 * Gives a role that a client has made another name. What the client has left in it, such as a function that runs as
 * it, keeps its own rights, and the API's role of that name is new.
 */
async function renameAway(client: Session, name: string): Promise<void> {
  const other = identifier(`sql_${randomBytes(4).toString("hex")}_${name}`);
  await changeRole(client, `ALTER ROLE ${identifier(name)} RENAME TO ${other}`);
}

/** Makes a role with the rights of the API's roles, or gives them to one of an earlier version of the service. */
async function putRights(client: Session, name: string, version: number, exists: boolean): Promise<void> {
  const role = identifier(name);
  const verb = exists ? "ALTER" : "CREATE";
  const attributes = `NOSUPERUSER ${privilegedAttributes(version)}`;
  await changeRole(client, `${verb} ROLE ${role} ${attributes}; GRANT ${privilegedRole} TO ${role}`);
}

async function putPassword(
  client: Session,
  role: CatalogRole,
  exists: boolean,
  { applied, passwordOf, hasLogin }: SyncPlan,
): Promise<void> {
  const name = identifier(role.name);
  const before = applied.roles.find((one) => one.name === role.name);
  if (exists && before?.passwordSource === role.passwordSource && before.login === role.login) return;
  const verifier = await scramVerifier(passwordOf(role.passwordSource));
  const login = role.login ? `LOGIN PASSWORD '${verifier}'` : "NOLOGIN";
  if (before && isEnded(before, role)) {
    // A session that is open would change it again at once.
    await changeRole(client, `ALTER ROLE ${name} NOLOGIN`);
    await endAll(client, `usename =${literal(role.name)}`);
  }
  await changeRole(client, `ALTER ROLE ${name} ${login}`);
  hasLogin(role.name);
}

/**
 * Drops a role. Its objects go to the owner of the database that they are in, but never to our own role, as which its
 * functions would run: objects in a database of ours are temporary, and are dropped. A role with a database stays for
 * that, without a login.
 */
async function dropRole(client: Session, name: string, { connect }: SyncPlan): Promise<void> {
  const databases = await client.query(databasesOf(name));
  if (databases.some(([, owner]) => owner === name)) return;
  for (const [database, owner, role] of databases) {
    await insideDatabase({ client, connect }, database ?? "", async (inside) => {
      // The role alone could roll them back, and their locks would keep it from being dropped.
      // By its number: in the database's encoding its name may be no name.
      await rollBackPrepared(inside, `owner = (SELECT rolname FROM pg_roles WHERE oid = ${Number(role)})`);
      const named = (
        what: string,
      ) => `SELECT format('${what}', pg_get_userbyid(${Number(role)}), pg_get_userbyid(datdba))
        FROM pg_database WHERE datname = current_database()`;
      const reassigned = owner === superuser ? [] : [relationsOf(Number(role)), named("REASSIGN OWNED BY %I TO %I")];
      await runWritten(inside, [...reassigned, policiesOf(Number(role)), named("DROP OWNED BY %I")]);
    });
  }
  await client.query(`DROP ROLE ${identifier(name)}`);
}

/**
 * Gives the relations of a role to the owner of the database, a thousand locks at a time: all of them at once may be
 * more than a server has room for. A sequence of a column goes with its table.
 */
function relationsOf(role: number): string {
  return `SELECT string_agg(statement, '; ') FROM (
    SELECT format('ALTER %s %I.%I OWNER TO %I', CASE relkind WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END, nspname, relname,
        pg_get_userbyid(datdba)) AS statement,
      sum(1 + (SELECT count(*) FROM pg_index WHERE indrelid = c.oid)) OVER (ORDER BY c.oid) / 1000 AS part
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_database ON datname = current_database()
    WHERE relowner = ${role} AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c') AND relpersistence <> 't'
      AND NOT (relkind = 'S' AND EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass
        AND objid = c.oid AND objsubid = 0 AND deptype IN ('a', 'i')))) one GROUP BY floor(part)`;
}

/** Takes a role out of policies, a thousand tables at a time: anybody may name it in a policy, and each is locked. */
function policiesOf(role: number): string {
  return `SELECT string_agg(CASE WHEN others IS NULL THEN format('DROP POLICY %I ON %s', polname, one)
      ELSE format('ALTER POLICY %I ON %s TO %s', polname, one, others) END, '; ') FROM (
    SELECT polname, format('%I.%I', nspname, relname) AS one, row_number() OVER () / 1000 AS part, (SELECT
      string_agg(quote_ident(rolname), ', ') FROM pg_roles r WHERE r.oid = ANY (polroles) AND r.oid <> ${role}) AS others
    FROM pg_policy JOIN pg_class c ON c.oid = polrelid JOIN pg_namespace n ON n.oid = relnamespace
    WHERE ${role} = ANY (polroles)) policies GROUP BY part`;
}

/**
 * The databases that a role owns, or has anything in, also those that clients have closed to connections; and ours, for
 * the rights that it has on databases.
 */
function databasesOf(role: string): string {
  return `SELECT datname, pg_get_userbyid(datdba),
      (SELECT oid FROM pg_roles WHERE rolname =${literal(role)}) FROM pg_database
    WHERE datname <> 'template0' AND (datname = 'postgres' OR pg_get_userbyid(datdba) =${literal(role)}
      OR oid IN (SELECT dbid FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass
        AND refobjid = (SELECT oid FROM pg_roles WHERE rolname =${literal(role)}))
      OR datname IN (SELECT database FROM pg_prepared_xacts WHERE owner =${literal(role)}))`;
}
