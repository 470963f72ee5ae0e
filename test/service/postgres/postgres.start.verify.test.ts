import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { stringify } from "yaml";
import type { Child } from "../../support/child.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { freePort } from "../../support/ports.ts";
import { commandLines } from "../../support/process-list.ts";
import { startCommand } from "../../support/processes.ts";
import { nodePostgres } from "./node-postgres.ts";
import { asRoot, PostgresRig, seed } from "./rig.ts";

const flags = ["service", "--port", "0", "--postgres", "--postgres-port", "0", ...asRoot];

/** In place of /tmp: the services of other tests start, too, and each removes what it finds left there. */
const temporary = temporaryDirectory("start");
chmodSync(temporary.path, 0o1777);
afterAll(() => temporary.remove());
const env = { ...process.env, TMPDIR: temporary.path };

/** The temporary directory of a service without --data. */
function rootOf({ pid }: Child): string | undefined {
  const roots = readdirSync(temporary.path).filter((name) => name.startsWith("compute-operator-postgres-"));
  const owned = (name: string) => join(temporary.path, name, "owner");
  const own = roots.find((name) => existsSync(owned(name)) && readFileSync(owned(name), "utf8").startsWith(`${pid} `));
  return own === undefined ? undefined : join(temporary.path, own);
}

it("keeps everything in a temporary directory without --data, and removes it at its end", async () => {
  const service = await startCommand("service", flags, env);
  await service.waitForLine(/^Postgres: 127\.0\.0\.1:\d+$/, 60_000);
  const root = rootOf(service) ?? "";
  expect(readdirSync(root)).toContain("template-17");
  await service.stop(60_000);
  expect(existsSync(root)).toBe(false);
});

it("warns where --domain comes with another port than the one that the vendor's tools build addresses with", async () => {
  const service = await startCommand("service", [...flags, "--domain", "db.test"]);
  const [, port] = await service.waitForLine(/^Postgres: 127\.0\.0\.1:(\d+)$/, 60_000);
  const [warning] = await service.waitForLine(/^The vendor's tools build addresses .*$/);
  expect(warning).toContain(`host and port 5432, but clients of Postgres connect to port ${port}:`);
  await service.stop();
});

it("says without --domain that what the vendor's tools build from hosts leads nowhere", async () => {
  const service = await startCommand("service", flags);
  const [said] = await service.waitForLine(/^Without --domain .*$/);
  expect(said).toMatch(/ neonctl connection-string .* take connection_uri .* or set --domain\.$/);
  await service.stop();
});

it("removes at the start what a service left that was killed, its server included", async () => {
  const { Client } = nodePostgres();
  const killed = await startCommand("killed", flags, env);
  const [, key = ""] = await killed.waitForLine(/^API key \(shown once\): (\S+)$/, 60_000);
  const [, baseURL = ""] = await killed.waitForLine(/^Listening on (\S+)$/, 60_000);
  await killed.waitForLine(/^Postgres: /, 60_000);
  const get = async (path: string): Promise<string> =>
    (await fetch(`${baseURL}${path}`, { headers: { authorization: `Bearer ${key}` } })).text();
  const [, id = ""] = /"id":"([^"]+)"/.exec(await get("/projects")) ?? [];
  const query = "database_name=neondb&role_name=neondb_owner";
  const [, connectionString = ""] = /"uri":"([^"]+)"/.exec(await get(`/projects/${id}/connection_uri?${query}`)) ?? [];
  const client = new Client({ connectionString });
  client.on("error", () => {});
  await client.connect();
  const root = rootOf(killed) ?? "none";
  await killed.kill();
  expect(existsSync(root)).toBe(true);
  const next = await startCommand("next", flags, env);
  await next.waitForLine(/^Postgres: /, 60_000);
  expect(existsSync(root)).toBe(false);
  expect(commandLines().filter((line) => line.includes(root))).toEqual([]);
  await next.stop();
});

it("says what to do where no server of a project's version is found", async () => {
  const home = temporaryDirectory("no-binaries");
  const older = { ...seed, projects: seed.projects.map((one) => ({ ...one, pgVersion: 16 })) };
  const file = join(home.path, "seed.yaml");
  writeFileSync(file, stringify(older));
  const service = await startCommand("service", [...flags, "--seed", file, "--postgres-bin", home.path]);
  expect((await service.end).status).toBe(1);
  const [, tried] = /no server of Postgres 16 was found: (.*)/.exec(service.tail()) ?? [];
  expect(tried).toMatch(
    /--postgres-bin \S+ has no postgres; no package has Postgres 16 for \S+; pg_config .*--postgres-bin/,
  );
  home.remove();
});

it("refuses to run servers as root without another user", async () => {
  if (asRoot.length === 0) return;
  const service = await startCommand("service", ["service", "--port", "0", "--postgres", "--postgres-port", "0"]);
  expect((await service.end).status).toBe(1);
  expect(service.tail()).toMatch(
    /Postgres does not run as root: name another user of this system with --postgres-user/,
  );
});

it("runs the major version of each project, and starts empty after a reset", async () => {
  const newest = { ...seed, projects: seed.projects.map((one) => ({ ...one, pgVersion: 18 })) };
  await using rig = await PostgresRig.start(["--test-controls"], newest);
  const uri = await rig.uri();
  expect(await rig.query(uri, "CREATE TABLE t (x int)", "SHOW server_version")).toEqual([{ server_version: "18.4" }]);
  expect(await rig.reset()).toBe(204);
  expect(await rig.query(await rig.uri(), "SELECT to_regclass('t') AS t")).toEqual([{ t: null }]);
});

it("lets clients wait that come while the service starts for the first time", async () => {
  const port = await freePort();
  await using rig = new PostgresRig(["--postgres-port", String(port)], seed);
  const starting = rig.start();
  const uri = `postgresql://app:wrong@127.0.0.1:${port}/stock?options=endpoint%3Dep-main`;
  let answer = "ECONNREFUSED";
  while (answer.includes("ECONNREFUSED")) answer = await rig.query(uri, "SELECT 1").then(String, String);
  expect(answer).toMatch(/password authentication failed/);
  await starting;
});

it("says at the start that the data beside --data belongs to another store", async () => {
  await using rig = await PostgresRig.start();
  await rig.query(await rig.uri(), "CREATE TABLE kept (x int)");
  await rig.stop();
  for (const file of ["", "-wal", "-shm"]) rmSync(`${rig.data}${file}`, { force: true });
  const other = await startCommand("other", [...flags, "--data", rig.data]);
  expect((await other.end).status).toBe(1);
  expect(other.tail()).toContain(`${rig.data}.postgres belongs to another store than the one of --data`);
});
