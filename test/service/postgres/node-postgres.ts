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
