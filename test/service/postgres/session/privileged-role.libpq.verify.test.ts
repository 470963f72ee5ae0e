import { copyFileSync, cpSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { findBinaries } from "../../../../src/service/postgres/host/binaries.ts";
import { systemProcesses } from "../../../../src/service/postgres/host/system-processes.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { nodePostgres } from "../node-postgres.ts";
import { PostgresRig, seed } from "../rig.ts";

const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "compute-operator", "postgres");
const settings = { directory: undefined, cache, env: process.env, progress: () => {} };
const processes = systemProcesses({ pid: process.pid, uid: 0, node: process.execPath });
const installed = async (major: number) => dirname(await findBinaries(major, settings, processes));

beforeAll(() => void nodePostgres());

const place = temporaryDirectory("programs");

it("a server of Postgres 17 that has the libpq of 18 lets no client have a subscription, also where it had another before", async () => {
  await using rig = new PostgresRig(["--postgres-bin", join(place.path, "bin")], seed);
  const programs = place.path;
  cpSync(await installed(17), programs, { recursive: true, verbatimSymlinks: true });
  await rig.start();
  const own = "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 password=x' PUBLICATION p WITH (connect = false)";
  await rig.query(await rig.uri(), own);
  await rig.stop();
  const later = join(await installed(18), "lib");
  const library = readdirSync(later).find((name) => /^libpq\.so\.5\.\d+$/.test(name)) ?? "";
  for (const name of readdirSync(join(programs, "lib")).filter((one) => /^libpq\.so\.5\.\d+$/.test(one)))
    copyFileSync(join(later, library), join(programs, "lib", name));
  await rig.start();
  const uri = await rig.uri();
  expect(await rig.query(uri, "SELECT subname FROM pg_subscription")).toEqual([]);
  const file = join(rig.directory.path, "written");
  const made = rig.query(uri, `CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 sslkeylogfile=${file}' PUBLICATION p`);
  await expect(made).rejects.toThrow(/permission denied to create subscription/);
});

it("a new branch has an empty catalogue of subscriptions, as a copy of another has a server run on it first", async () => {
  await using rig = await PostgresRig.start();
  await rig.query(await rig.uri(), "SELECT");
  const branches = `${rig.data}.postgres/branches`;
  const sizes = readdirSync(branches).map((name) => statSync(join(branches, name, "global", "6100")).size);
  expect(sizes).toEqual([0]);
});
