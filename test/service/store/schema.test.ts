import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { firstVersion, steps } from "../../../src/service/store/schema.ts";
import { Store } from "../../../src/service/store/store.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { DrivenTime, TestService } from "../support/service.ts";
import { keys, main, primary, project, Shop } from "../support/shop.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let file: string;
beforeEach(() => {
  directory = temporaryDirectory("store");
  file = join(directory.path, "service.sqlite");
});
afterEach(() => directory.remove());

/** Writes a data file as this program did when its schema grew in eight steps. `more`: what it has beyond that. */
function writeOld(version = 8, more = ""): void {
  const sqlite = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  sqlite.exec(readFileSync(join(import.meta.dirname, "version-8.sql"), "utf8"));
  sqlite.exec(`${more}; PRAGMA user_version = ${version}`);
  sqlite.close();
}

/** The store of an old data file that has this beyond what every old one has. */
function openedWith(more: string, version?: number): Store {
  writeOld(version, more);
  const store = Store.open(file);
  onTestFinished(() => store.close());
  return store;
}

function openedOld(): TestService {
  writeOld();
  const time = new DrivenTime();
  time.pass(9000);
  return new TestService({ file, time });
}

/** The columns of a data file by table, with what must hold of them. */
function columnsIn(at: string): unknown[] {
  const sqlite = new DatabaseSync(at);
  const columns = sqlite
    .prepare(
      `SELECT m.name AS "table", c.name, c.type, c."notnull", c.pk FROM sqlite_master m JOIN pragma_table_info(m.name) c
       WHERE m.type = 'table' ORDER BY m.name, c.name`,
    )
    .all();
  sqlite.close();
  return columns;
}

it("a data file from before the schema was one is opened with all that it holds", () => {
  const service = openedOld();
  const endpoints = service.send(keys.ana, `GET /projects/${project}/endpoints`).body["endpoints"];
  expect(endpoints).toMatchObject([
    { id: primary, current_state: "active" },
    { name: "kept", settings: { pg_settings: { work_mem: "64MB" } } },
  ]);
  const found = service.send(keys.ana, `GET /projects/${project}`).body["project"];
  expect(found).toMatchObject({ name: "shop", store_passwords: true, history_retention_seconds: 86_400 });
  const branches = service.send(keys.ana, `GET /projects/${project}/branches?sort_by=created_at&sort_order=asc`);
  expect(branches.body["branches"]).toHaveLength(4);
  for (const id of [main, "br-preview-1", "br-staging-1"]) {
    const base = `GET /projects/${project}/branches/${id}`;
    expect(service.send(keys.ana, `${base}/roles`).body["roles"]).toMatchObject([{ name: "neondb_owner" }]);
    expect(service.send(keys.ana, `${base}/databases`).body["databases"]).toMatchObject([
      { name: "neondb", owner_name: "neondb_owner" },
    ]);
  }
  const line = `GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner`;
  expect(service.send(keys.ana, line).body["uri"]).toBe(
    "postgresql://neondb_owner:npg_7eVqtCjwOKPHZklkrT1pV-uw@ep-shop-primary.us-east-2.aws.neon.tech/neondb?sslmode=require",
  );
  service.core.close();
});

it("a data file from before the schema was one has the columns of a new one", () => {
  writeOld();
  Store.open(file).close();
  const fresh = join(directory.path, "fresh.sqlite");
  Store.open(fresh).close();
  expect(columnsIn(file).length).toBeGreaterThan(100);
  expect(columnsIn(file)).toEqual(columnsIn(fresh));
});

const [preview, staging] = ["br-preview-1", "br-staging-1"];
const hasData = (id: string) => `INSERT INTO branch_data VALUES ('${id}', 'g1', '{}', 1, 1, 1)`;

it("a copy that an older data file wants is of the schema alone where its branch says so and has no data yet", () => {
  const { branchData } = openedWith(`
    UPDATE branches SET details = '{"init_source":"schema-only"}' WHERE id IN ('${preview}', '${staging}');
    UPDATE branches SET details = '{"init_source":"parent-data"}' WHERE id = 'br-two';
    INSERT INTO branch_sources (branch_id, source_id) VALUES ('${preview}', '${main}'), ('${staging}', '${main}'), ('br-two', '${main}');
    ${hasData(staging)}`);
  const isSchemaOnly = [preview, staging, "br-two"].map((id) => branchData.sourceOf(id)?.schemaOnly);
  expect(isSchemaOnly).toEqual([true, false, false]);
});

it("an older data file's branches with data lack none, and the others lack theirs", () => {
  const { branchData } = openedWith(hasData(main));
  expect(branchData.missing()).toEqual([
    preview,
    staging,
    "br-two",
    "br-ana",
    "br-bob",
    "br-eve",
    "br-keen-reef-312684e4",
  ]);
});

it("the usage of a compute by day and by quarter is that of before a data file is opened by a newer program", () => {
  const next = steps.findIndex((step) => step.includes("kept_days"));
  const used = `INSERT INTO endpoint_days VALUES ('${primary}', 20454, 3600000);
    INSERT INTO endpoint_quarters VALUES ('${primary}', 1963584, 900000, 450000, 2, 1)`;
  const store = openedWith([...steps.slice(1, next), used].join(";"), firstVersion + next - 1);
  expect(store.days.since(primary, 0)).toMatchObject([{ index: 20_454, computeMs: 3_600_000 }]);
  expect(store.quarters.since(primary, 0)).toEqual([
    expect.objectContaining({ index: 1_963_584, activeMs: 900_000, computeMs: 450_000, peak: 2, wakes: 1 }),
  ]);
});

it("a key of an older data file that is revoked is not planted again by a seed, which any of them may be of", () => {
  const { keys: kept } = openedWith("");
  const key = kept.bySecret(keys.ana);
  kept.revoke(key?.id ?? 0, 0);
  expect([key?.name, kept.bySecret(keys.ana), kept.exists(keys.ana)]).toEqual(["laptop", undefined, true]);
});

it("a branch that was deleted by an older program is forgotten at its time, with its compute that is removed already", () => {
  const feature = "br-keen-reef-312684e4";
  const gone = `INSERT INTO deleted_endpoints SELECT * FROM endpoints LIMIT 1;
    UPDATE deleted_endpoints SET id = 'ep-gone', branch_id = '${feature}'; INSERT INTO removed_endpoints VALUES ('ep-gone')`;
  const store = openedWith([...steps.slice(1, -1), gone].join(";"), firstVersion + steps.length - 2);
  store.branches.delete(feature);
  expect([store.branches.exists(feature), store.removed.any()]).toEqual([false, true]);
});

it.each([1, 7])("a data file of schema %i is refused with what to do, and left as it is", (version) => {
  writeOld(version);
  expect(() => Store.open(file)).toThrow(
    `${file} was written by this program before its first release (schema ${version}; this one knows 8 and newer): use that version, or another file.`,
  );
  const sqlite = new DatabaseSync(file);
  expect(sqlite.prepare("PRAGMA user_version").get()).toEqual({ user_version: version });
  sqlite.close();
});

it.each([
  ["a primary of a branch", "UPDATE endpoints SET type = 'read_write'"],
  ["a default branch of a project", "UPDATE branches SET is_default = 1"],
  ["a database of a name in a branch", "UPDATE databases SET name = 'stock'"],
  ["a key with a secret", "UPDATE api_keys SET hash = 'abc'"],
  ["an account with an email", "UPDATE accounts SET email = 'ana@example.com'"],
  ["an account with a uuid", "UPDATE accounts SET uuid = '00000000-0000-4000-8000-000000000000'"],
  ["an operation with an id", "UPDATE operations SET id = '00000000-0000-4000-8000-000000000000'"],
])("the store itself keeps a second one out beside %s", (_, sql) => {
  const shop = new Shop();
  for (const name of ["one", "another"]) {
    shop.create({ branch_id: main, type: "read_only", name });
    shop.finishOperations();
  }
  shop.ana("POST /projects/ana-own/branches/br-ana/databases", {
    database: { name: "more", owner_name: "neondb_owner" },
  });
  expect(() => shop.database.run(sql)).toThrow("UNIQUE constraint failed");
});
