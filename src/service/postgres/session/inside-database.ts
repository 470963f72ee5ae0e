import type { Session } from "./privileged-role.ts";
import { identifier } from "./quoting.ts";

/** A session at a server, and the way to others of its databases. */
export interface Connected {
  client: Session;
  connect: (database: string) => Promise<Session>;
}

/** A database as the server shows it. */
export interface Shown {
  name: string;
  /** `t` if it is closed to connections. */
  closed: string | null | undefined;
  /** The number of connections that it takes. */
  limit: string | null | undefined;
}

/** Acts in a session inside a database; a closed one is open for that long, and for superusers alone. */
export async function insideDatabase(
  { client, connect }: Connected,
  { name, closed, limit }: Shown,
  act: (inside: Session) => Promise<unknown>,
): Promise<void> {
  const database = identifier(name);
  const isClosed = closed === "t";
  if (isClosed) await client.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true CONNECTION LIMIT 0`);
  try {
    using inside = await connect(name);
    await act(inside);
  } finally {
    if (isClosed)
      await client.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false CONNECTION LIMIT ${Number(limit ?? -1)}`);
  }
}

/** Databases of which a condition holds. A service that was killed may have left `template0` open. */
export async function databasesThat(client: Session, condition: string): Promise<(Shown & { oid: string })[]> {
  const rows = await client.query(
    `SELECT datname, datname = 'template0' OR NOT datallowconn, datconnlimit, oid FROM pg_database WHERE ${condition}`,
  );
  return rows.map(([name, closed, limit, oid]) => ({ oid: oid ?? "", name: name ?? "", closed, limit }));
}

/** Acts inside each database of which a condition holds. */
export async function insideDatabases(
  connected: Connected,
  condition: string,
  act: (inside: Session) => Promise<unknown>,
): Promise<void> {
  for (const one of await databasesThat(connected.client, condition)) await insideDatabase(connected, one, act);
}
