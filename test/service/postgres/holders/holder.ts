import { literal } from "../../../../src/service/postgres/session/quoting.ts";
import { type PgClient, streamOf } from "../node-postgres.ts";
import { paths } from "../rig.ts";

/** A connection: by default of the role `thief` to the database `stock` at the primary. */
export interface Opening {
  database?: string;
  role?: string;
  settings?: object;
  replica?: boolean;
}

/** How a holder reaches its branch. */
export interface Tenant {
  open(options?: Opening): Promise<PgClient>;
}

/** Something that a role of SQL holds: a name, and how it comes to hold it. */
export interface Holder {
  hold: (tenant: Tenant) => Promise<unknown>;
  /** True where the branch has a replica. */
  atReplica?: boolean;
  /** True where it keeps others from logging in, on purpose. */
  locksOut?: boolean;
}

/** Begins what never ends. */
export function begin(client: PgClient, sql: string): void {
  client.query(sql).catch(() => {});
}

export async function run(client: PgClient, ...statements: readonly string[]): Promise<PgClient> {
  for (const statement of statements) await client.query(statement);
  return client;
}

/** A transaction that stays open after its statements. */
export function open(role: string, ...statements: readonly string[]): Holder {
  return { hold: async (tenant) => run(await tenant.open({ role }), "BEGIN", ...statements) };
}

/** A transaction that is prepared, in a database. */
export function prepared(database: string, ...statements: readonly string[]): Holder {
  return {
    hold: async (tenant) => {
      const client = await tenant.open({ role: "app", database });
      await run(client, "BEGIN", ...statements, "PREPARE TRANSACTION 'kept'");
      await client.end();
    },
  };
}

/** Statements that are done. */
export function done(role: string, database: string, ...statements: readonly string[]): Holder {
  return {
    hold: async (tenant) => (await run(await tenant.open({ role, database }), ...statements)).end(),
  };
}

export const endless = "SELECT one ?# other FROM paths";
export const long = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)";

/** A session that runs a statement without an end. */
export function busy(database: string, first: readonly string[], sql: string, replica = false): Holder {
  return {
    ...(replica && { atReplica: true }),
    hold: async (tenant) => {
      const at = { role: "app", database };
      const watcher = await run(await tenant.open(at), `CREATE TABLE paths AS ${paths}`);
      const client = await tenant.open({ ...at, replica });
      // At a replica the table comes a little later.
      while (!(await run(client, "SELECT FROM paths").catch(() => undefined))) continue;
      begin(await run(client, ...first), sql);
      await until(replica ? await tenant.open({ ...at, replica }) : watcher, `query = ${literal(sql)}`);
    },
  };
}

/** A session that has a long answer, of which its client reads nothing. */
export function unread(database: string, first: readonly string[], replica = false): Holder {
  return {
    ...(replica && { atReplica: true }),
    hold: async (tenant) => {
      const at = { role: "app", database, replica };
      const client = await run(await tenant.open(at), ...first);
      begin(client, long);
      streamOf(client).pause();
      await until(await tenant.open(at), "wait_event = 'ClientWrite'");
    },
  };
}

/** Resolves when there is a session of which this holds; the client is ended. */
export async function until(client: PgClient, condition: string): Promise<void> {
  const found = `SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active' AND ${condition}`;
  while ((await client.query(found)).rows.length === 0) continue;
  await client.end();
}

export const slot = (name: string, temporary = false) =>
  `SELECT pg_create_logical_replication_slot('${name}', 'test_decoding', ${temporary})`;
