import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const version = "8.23.1";

/** What the tests use of node-postgres. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(sql: string): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
}

interface PgModule {
  Client: new (settings: { connectionString: string; ssl?: object; [setting: string]: unknown }) => PgClient;
}

/** node-postgres, unmodified: installed once for this machine, outside the repository. */
export function nodePostgres(): PgModule {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const home = join(cache, "compute-operator", `node-postgres-${version}`);
  if (!existsSync(join(home, "node_modules", "pg", "package.json"))) {
    mkdirSync(dirname(home), { recursive: true });
    const staging = mkdtempSync(join(dirname(home), ".new-"));
    const args = ["install", "--prefix", staging, "--no-audit", "--no-fund", "--loglevel=error", `pg@${version}`];
    const { status, stderr } = spawnSync("npm", args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`npm cannot install pg@${version}: ${stderr}`);
    // Test files run side by side: the first one's is as good as ours.
    if (existsSync(home)) rmSync(staging, { recursive: true });
    else renameSync(staging, home);
  }
  const loaded: PgModule = createRequire(join(home, "package.json"))("pg");
  return loaded;
}
