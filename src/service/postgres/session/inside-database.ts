import type { Session } from "./privileged-role.ts";
import { identifier, literal } from "./quoting.ts";

/** A session at a server, and the way to others of its databases. */
export interface Connected {
  client: Session;
  connect: (database: string) => Promise<Session>;
}

/**
 * True of a row of `pg_database` with rules of ICU's for its texts, which exist from Postgres 16 on. A session that
 * opens applies them first: a client's may take an hour, or be none that ICU takes.
 */
export const hasRules = "to_jsonb(pg_database) ->> 'daticurules' IS NOT NULL";

/** Has sessions that open go without the rules of databases that have some, or with them as before. */
export function putRulesAside(aside: boolean, condition = "true"): string {
  return `UPDATE pg_database SET datlocprovider = '${aside ? "c" : "i"}' WHERE ${hasRules} AND ${condition}`;
}

/**
 * Acts in a session inside a database. A closed one is open for that long, and for superusers alone; so is one with
 * rules, which do without them in it, as no client may. A service that was killed may have left `template0` open.
 */
export async function insideDatabase(
  { client, connect }: Connected,
  name: string,
  act: (inside: Session) => Promise<unknown>,
): Promise<void> {
  const [database, named] = [identifier(name), `datname =${literal(name)}`];
  const [row] = await client.query(
    `SELECT datname <> 'template0' AND datallowconn, datconnlimit, ${hasRules} FROM pg_database WHERE ${named}`,
  );
  const [isOpen, limit, ruled] = row ?? [];
  const isShut = isOpen === "f" || ruled === "t";
  const rules = async (aside: boolean) => {
    if (ruled === "t") await client.query(putRulesAside(aside, named));
  };
  if (isShut) await client.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true CONNECTION LIMIT 0`);
  try {
    await rules(true);
    using inside = await connect(name);
    await act(inside);
  } finally {
    await rules(false);
    const before = `ALLOW_CONNECTIONS ${isOpen === "t"} CONNECTION LIMIT ${Number(limit ?? -1)}`;
    if (isShut) await client.query(`ALTER DATABASE ${database} ${before}`);
  }
}

/** Databases of which a condition holds. */
export async function databasesThat(client: Session, condition: string): Promise<{ oid: string; name: string }[]> {
  const rows = await client.query(`SELECT datname, oid FROM pg_database WHERE ${condition}`);
  return rows.map(([name, oid]) => ({ oid: oid ?? "", name: name ?? "" }));
}

/** Acts inside each database of which a condition holds. */
export async function insideDatabases(
  connected: Connected,
  condition: string,
  act: (inside: Session) => Promise<unknown>,
): Promise<void> {
  for (const { name } of await databasesThat(connected.client, condition)) await insideDatabase(connected, name, act);
}
