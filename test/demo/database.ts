import { nodePostgres } from "../service/postgres/node-postgres.ts";
import { runProgram } from "../support/run-program.ts";
import type { Screen } from "./screen.ts";

/** A client of a database, shown as a person would use it. */
export interface DatabaseClient {
  /** Shows a statement and what came of it, also where it fails. */
  run(uri: string, sql: string): Promise<void>;
  /** Whether another client runs this statement; `undefined` where none does. */
  runs(uri: string, sql: string): Promise<true | undefined>;
}

/** psql where it is installed, else node-postgres. */
export async function databaseClient(screen: Screen): Promise<DatabaseClient> {
  const hasPsql = await runProgram("psql", ["--version"]).then(
    ({ status }) => status === 0,
    () => false,
  );
  if (hasPsql) return { run: (uri, sql) => withPsql(screen, uri, sql), runs: seenByPsql };
  screen.note("psql is not installed: node-postgres runs what stands after its name here.");
  return { run: (uri, sql) => withNodePostgres(screen, uri, sql), runs: seenByNodePostgres };
}

async function withPsql(screen: Screen, uri: string, sql: string): Promise<void> {
  screen.command(`psql "$URI" -c ${quoted(sql)}`);
  const { stdout, stderr } = await screen.waiting("answered", runProgram("psql", [uri, "-X", "-c", sql]));
  screen.output(`${stdout}${stderr}`.trimEnd());
}

async function withNodePostgres(screen: Screen, uri: string, sql: string): Promise<void> {
  screen.command(`psql "$URI" -c ${quoted(sql)}`);
  const { Client } = nodePostgres();
  const client = new Client({ connectionString: uri });
  client.on("error", () => {});
  const answer = async () => {
    try {
      await client.connect();
      return JSON.stringify((await client.query(sql)).rows);
    } catch (error) {
      return String(error);
    } finally {
      await client.end().catch(() => {});
    }
  };
  screen.output(await screen.waiting("answered", answer()));
}

function asActivity(sql: string): string {
  return `SELECT count(*)::int AS n FROM pg_stat_activity WHERE query = '${sql}' AND state = 'active'`;
}

async function seenByPsql(uri: string, sql: string): Promise<true | undefined> {
  const { stdout } = await runProgram("psql", [uri, "-X", "-Atc", asActivity(sql)]);
  return stdout.trim() === "1" || undefined;
}

async function seenByNodePostgres(uri: string, sql: string): Promise<true | undefined> {
  const { Client } = nodePostgres();
  const client = new Client({ connectionString: uri });
  await client.connect();
  const { rows } = await client.query(asActivity(sql));
  await client.end();
  return rows[0]?.["n"] === 1 || undefined;
}

function quoted(sql: string): string {
  return `"${sql}"`;
}
