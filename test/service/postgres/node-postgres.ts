import { connect, Socket } from "node:net";
import { cachedPackages } from "../../support/cached-npm.ts";

/** What the tests use of node-postgres. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(
    sql: string | { name: string; text: string; values: readonly unknown[] },
  ): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: "error" | "notice", listener: (said: Error) => void): unknown;
}

export interface PgModule {
  Client: new (settings: { connectionString: string; ssl?: object; [setting: string]: unknown }) => PgClient;
}

/** The package and its pinned version. */
export const nodePostgresPackage = "pg@8.23.1";

export function nodePostgres(): PgModule {
  const loaded: PgModule = cachedPackages(nodePostgresPackage)("pg");
  return loaded;
}

/** The key of a client's session, by which a query of it is cancelled. */
export function keyOf(client: object): { processID: number; secretKey: number } {
  const { processID, secretKey } = { processID: 0, secretKey: 0, ...client };
  return { processID, secretKey };
}

/** The connection of a client. */
export function streamOf(client: object): Socket {
  const { connection } = { connection: { stream: new Socket() }, ...client };
  return connection.stream;
}

/** Cancels what a client runs, over a connection that is no session. Resolves when the server has the request. */
export async function sendCancel(address: string, client: object): Promise<void> {
  const { processID, secretKey } = keyOf(client);
  const [host = "", port = ""] = address.split(":");
  const packet = Buffer.alloc(16);
  packet.writeInt32BE(16, 0);
  packet.writeInt32BE(80877102, 4);
  packet.writeInt32BE(processID, 8);
  packet.writeInt32BE(secretKey, 12);
  const socket = connect(Number(port), host);
  socket.end(packet);
  await new Promise((resolve) => socket.once("close", resolve));
}

/** The rows of the last of the statements, run one by one. The client is ended. */
export async function lastRows(client: PgClient, statements: readonly string[]): Promise<Record<string, unknown>[]> {
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}
