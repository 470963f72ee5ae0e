import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { cachedPackages } from "../../support/cached-npm.ts";
import { nodePostgresPackage, type PgClient, type PgModule } from "./node-postgres.ts";
import { main, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

/** What this test uses of Drizzle. */
interface DrizzleModule {
  drizzle: (client: PgClient) => object;
}
interface MigratorModule {
  migrate: (db: object, settings: { migrationsFolder: string }) => Promise<void>;
}

const load = cachedPackages("drizzle-orm@0.45.4", nodePostgresPackage);
const { Client }: PgModule = load("pg");
const { drizzle }: DrizzleModule = load("drizzle-orm/node-postgres");
const { migrate }: MigratorModule = load("drizzle-orm/node-postgres/migrator");

const rig = usePostgresRig();
let migrationsFolder: string;
beforeAll(() => {
  migrationsFolder = join(rig.directory.path, "migrations");
});

/** Writes migrations as drizzle-kit generates them. */
function writeMigrations(...statements: readonly string[]): void {
  mkdirSync(join(migrationsFolder, "meta"), { recursive: true });
  const entries = statements.map((sql, idx) => {
    const tag = `000${idx}_step`;
    writeFileSync(join(migrationsFolder, `${tag}.sql`), sql);
    return { idx, version: "7", when: 1_767_225_600_000 + idx, tag, breakpoints: true };
  });
  const journal = { version: "7", dialect: "postgresql", entries };
  writeFileSync(join(migrationsFolder, "meta", "_journal.json"), JSON.stringify(journal));
}

async function migrated(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await migrate(drizzle(client), { migrationsFolder });
  } finally {
    await client.end();
  }
}

const create =
  'CREATE TABLE "item" ("id" serial PRIMARY KEY, "name" text NOT NULL);\n--> statement-breakpoint\nCREATE INDEX ON "item" ("name");';
const change = 'ALTER TABLE "item" ADD COLUMN "price" numeric DEFAULT 0 NOT NULL;';
const columns =
  "SELECT column_name FROM information_schema.columns WHERE table_name = 'item' ORDER BY ordinal_position";

it("runs Drizzle's migrations on a branch, and its parent stays as it is until it is migrated too", async () => {
  const parent = await rig.uri();
  writeMigrations(create);
  await migrated(parent);
  await rig.query(parent, "INSERT INTO item (name) VALUES ('bolt')");
  const reply = await rig.call("POST", `/projects/${project}/branches`, {
    branch: { parent_id: main },
    endpoints: [{ type: "read_write" }],
  });
  const made = z.looseObject({ endpoints: z.array(z.looseObject({ id: z.string() })) }).parse(reply.body);
  await rig.settled();
  const branch = await rig.uri({ endpoint: made.endpoints[0]?.id ?? "" });
  writeMigrations(create, change);
  await migrated(branch);
  const of = async (uri: string) => (await rig.query(uri, columns)).map((row) => row["column_name"]);
  expect(await of(branch)).toEqual(["id", "name", "price"]);
  expect(await rig.query(branch, "SELECT name, price::int FROM item")).toEqual([{ name: "bolt", price: 0 }]);
  expect(await of(parent)).toEqual(["id", "name"]);
  await migrated(parent);
  expect(await of(parent)).toEqual(["id", "name", "price"]);
});
