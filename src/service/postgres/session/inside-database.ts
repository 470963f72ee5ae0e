import { endAll } from "./end-sessions.ts";
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
export function putRulesAside(aside: boolean, condition = "true", more = ""): string {
  return `UPDATE pg_database SET datlocprovider = '${aside ? "c" : "i"}'${more} WHERE ${hasRules} AND ${condition}`;
}

/**
 * Acts in a session inside a database. A closed one is open for that long, and for superusers alone; so is one with
 * rules, whose other sessions end: their workers would do without, and order an index otherwise. A service that was
 * killed may have left `template0` open, and one with rules shut.
 */
export async function insideDatabase(
  { client, connect }: Connected,
  name: string,
  act: (inside: Session) => Promise<unknown>,
): Promise<void> {
  const [database, named] = [identifier(name), `datname =${literal(name)}`];
  const [row] = await client.query(`SELECT datname <> 'template0' AND datallowconn,
    CASE WHEN datlocprovider = 'c' AND ${hasRules} THEN -1 ELSE datconnlimit END, ${hasRules}
    FROM pg_database WHERE ${named}`);
  const [isOpen, limit, ruled] = row ?? [];
  const isShut = isOpen === "f" || ruled === "t";
  const shut = async (aside: boolean, allows: boolean, most: number) => {
    // At once: a service that is killed amid it must not leave clients in without rules, nor out with them.
    const columns = `, datallowconn = ${allows}, datconnlimit = ${most}`;
    const open = `ALTER DATABASE ${database} ALLOW_CONNECTIONS ${allows} CONNECTION LIMIT ${most}`;
    if (isShut) await client.query(ruled === "t" ? putRulesAside(aside, named, columns) : open);
  };
  await shut(true, true, 0);
  try {
    if (ruled === "t") await endAll(client, named);
    using inside = await connect(name);
    await act(inside);
  } finally {
    await shut(false, isOpen === "t", Number(limit ?? -1));
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
