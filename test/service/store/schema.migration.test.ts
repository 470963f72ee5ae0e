import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../support/guardian.ts";
import { DrivenTime, TestService } from "../support/service.ts";
import { keys, main, primary, project } from "../support/shop.ts";

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory("store");
});
afterEach(() => directory.remove());

/** A service on a data file of schema 1, as version 0.1.0 left it. */
function opened(): TestService {
  const file = join(directory.path, "service.sqlite");
  const sqlite = new DatabaseSync(file);
  sqlite.exec(readFileSync(join(import.meta.dirname, "version-1.sql"), "utf8"));
  sqlite.close();
  const time = new DrivenTime();
  time.pass(9000);
  return new TestService({ file, time });
}

it("a data file of schema 1 is opened with all that it holds", () => {
  const service = opened();
  const endpoints = service.send(keys.ana, `GET /projects/${project}/endpoints`).body["endpoints"];
  expect(endpoints).toMatchObject([
    { id: primary, current_state: "active" },
    { name: "kept", settings: { pg_settings: { work_mem: "64MB" } } },
  ]);
  const found = service.send(keys.ana, `GET /projects/${project}`).body["project"];
  expect(found).toMatchObject({ name: "shop", store_passwords: true, history_retention_seconds: 86_400 });
  service.core.close();
});

it("every branch gets the first role and database, with the password that the role had", () => {
  const service = opened();
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
