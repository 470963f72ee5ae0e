import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Store } from "../../../src/service/store/store.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { DrivenTime, TestService } from "../support/service.ts";
import { keys, main, primary, project } from "../support/shop.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let file: string;
beforeEach(() => {
  directory = temporaryDirectory("store");
  file = join(directory.path, "service.sqlite");
});
afterEach(() => directory.remove());

/** Writes a data file as this program did when its schema grew in eight steps. */
function writeOld(version = 8): void {
  const sqlite = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  sqlite.exec(readFileSync(join(import.meta.dirname, "version-8.sql"), "utf8"));
  sqlite.exec(`PRAGMA user_version = ${version}`);
  sqlite.close();
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

it.each([1, 7])("a data file of schema %i is refused with what to do, and left as it is", (version) => {
  writeOld(version);
  expect(() => Store.open(file)).toThrow(
    `${file} was written by this program before its first release (schema ${version}; this one knows 8 and newer): use that version, or another file.`,
  );
  const sqlite = new DatabaseSync(file);
  expect(sqlite.prepare("PRAGMA user_version").get()).toEqual({ user_version: version });
  sqlite.close();
});
