import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync } from "node:fs";
import { createConnection } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { z } from "zod";
import { findBinaries } from "../../../src/service/postgres/host/binaries.ts";
import { systemProcesses } from "../../../src/service/postgres/host/system-processes.ts";
import { Child } from "../../support/child.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { nodePostgres } from "./node-postgres.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const nobody = 65_534;

/** The programs of Postgres 17, where every user can reach them, as a cache. */
async function cacheIn(directory: string): Promise<string> {
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "compute-operator", "postgres");
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? ""]));
  const settings = { directory: undefined, cache, env, progress: () => {} };
  const self = { pid: process.pid, uid: process.getuid?.() ?? 0, node: process.execPath };
  const home = dirname(dirname(await findBinaries(17, settings, systemProcesses(self))));
  const copy = join(directory, "cache", "compute-operator", "postgres", home.slice(cache.length));
  cpSync(home, copy, { recursive: true, verbatimSymlinks: true });
  return join(directory, "cache");
}

/** Ways to PgBouncer's console, into which PgBouncer lets its own user without a password. */
const attempts: readonly (readonly string[])[] = [
  ["user", "pgbouncer"],
  ["user", "pgbouncer", "database", "pgbouncer"],
  ["user", "pgbouncer", "database", ""],
  // A server that stops at the empty name sees no database.
  ["user", "pgbouncer", "", "x", "database", "neondb"],
];

/** The first message that answers a startup packet of these parameters. */
function firstAnswer(uri: string, parameters: readonly string[]): Promise<string> {
  const { hostname, port, searchParams } = new URL(uri);
  const named = ["options", searchParams.get("options") ?? "", ...parameters];
  const body = Buffer.from(`${named.map((part) => `${part}\0`).join("")}\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8, 0);
  head.writeUInt32BE(0x30000, 4);
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), hostname, () => socket.write(Buffer.concat([head, body])));
    socket.once("error", reject);
    socket.once("data", (said) => {
      socket.destroy();
      resolve(said.toString("latin1"));
    });
  });
}

it("serves from the bundle as a user that is not root, pooled host and all, and leaves PgBouncer's console closed", async () => {
  const directory = temporaryDirectory("bundle");
  chmodSync(directory.path, 0o755);
  const bundle = join(directory.path, "dist");
  execFileSync(process.execPath, ["scripts/bundle.ts", bundle], { cwd: root, stdio: "pipe" });
  // The thread that compares schemas is a program of its own.
  const workerData = { name: "stock", before: "a", after: "b" };
  const [compared] = await once(new Worker(join(bundle, "comparing.js"), { workerData }), "message");
  expect(compared).toEqual({ patch: expect.stringContaining("--- a/stock") });
  const node = join(directory.path, "node");
  copyFileSync(process.execPath, node);
  const data = join(directory.path, "data");
  mkdirSync(data);
  const asRoot = process.getuid?.() === 0;
  if (asRoot) chownSync(data, nobody, nobody);
  const flags = [
    "service",
    "--port",
    "0",
    "--postgres",
    "--postgres-port",
    "0",
    "--data",
    join(data, "service.sqlite"),
  ];
  const command = [node, join(bundle, "compute-operator.js"), ...flags];
  const drop = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  const [program = "", ...args] = asRoot ? [...drop, ...command] : command;
  const env = { PATH: process.env["PATH"], HOME: data, XDG_CACHE_HOME: await cacheIn(directory.path) };
  const service = await Child.start({ name: "bundle", command: program, args, env });
  try {
    const [, key = ""] = await service.waitForLine(/^API key \(shown once\): (\S+)$/, 60_000);
    const [, baseURL = ""] = await service.waitForLine(/^Listening on (\S+)$/, 60_000);
    await service.waitForLine(/^Postgres: /, 60_000);
    const get = async (path: string): Promise<unknown> =>
      (await fetch(`${baseURL}${path}`, { headers: { authorization: `Bearer ${key}` } })).json();
    const listed = z
      .looseObject({ projects: z.array(z.looseObject({ id: z.string() })) })
      .parse(await get("/projects"));
    const query = "database_name=neondb&role_name=neondb_owner&pooled=";
    const path = `/projects/${listed.projects[0]?.id}/connection_uri?${query}`;
    const uri = async (pooled: boolean) => z.looseObject({ uri: z.string() }).parse(await get(`${path}${pooled}`)).uri;
    const { Client } = nodePostgres();
    const answer = async (connectionString: string) => {
      const client = new Client({ connectionString });
      client.on("error", () => {});
      await client.connect();
      const { rows } = await client.query("SELECT 1 AS one");
      await client.end();
      return rows;
    };
    expect(await answer(await uri(false))).toEqual([{ one: 1 }]);
    const pooled = await uri(true);
    expect(await answer(pooled)).toEqual([{ one: 1 }]);
    for (const attempt of attempts)
      expect(await firstAnswer(pooled, attempt)).toMatch(/^E.*(pooled host|invalid startup)/s);
    const id = /endpoint%3D([\w-]+)/.exec(pooled)?.[1];
    const overHTTP = await fetch(new URL("/sql", baseURL), {
      method: "POST",
      headers: { "neon-connection-string": `postgresql://pgbouncer:any@${id}.localhost/%00` },
      body: JSON.stringify({ query: "SHOW CONFIG" }),
    });
    expect(await overHTTP.json()).toMatchObject({ message: "a parameter of the connection has a zero byte" });
  } finally {
    await service.stop(30_000);
    directory.remove();
  }
});
