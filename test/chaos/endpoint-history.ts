import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { type StoredEndpoint } from "../../src/service/store/endpoints.ts";
import { Store } from "../../src/service/store/store.ts";
import { fieldFacts } from "../support/compute-fields.ts";

const entry = z.object({
  /** Milliseconds since the epoch. */
  at: z.number(),
  what: z.enum(["made", "changed", "deleted", "started", "up"]),
  endpoint: z.string(),
  project: z.string(),
  branch: z.string(),
  type: z.string(),
  name: z.string().nullable(),
});

/**
 * One thing that became of an endpoint. `started`: a start of it was set off, by its creation or by a restart. `up`: it
 * came up, after a start or with another size.
 */
export type Entry = z.infer<typeof entry>;

/** What a change by somebody shows in; the rest of an endpoint changes without anybody's action. */
const attributes = [
  "branch_id",
  "name",
  "suspend_timeout_seconds",
  "settings",
  ...fieldFacts.map(({ column, wire }) => column ?? wire),
];

const now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const write = (what: string, row: string) =>
  `INSERT INTO storm_ledger (at, what, endpoint, project, branch, type, name)
   SELECT ${now}, '${what}', ${row}.id, ${row}.project_id, ${row}.branch_id, ${row}.type, ${row}.name`;

/**
 * Makes the service's own store record everything that happens to an endpoint, in the transaction that does it:
 * no kill can part the two. Only while the service does not run.
 */
export function plantLedger(file: string): void {
  const database = new DatabaseSync(file);
  const changed = attributes.map((column) => `OLD.${column} IS NOT NEW.${column}`).join(" OR ");
  database.exec(`
    CREATE TABLE storm_ledger (
      seq INTEGER PRIMARY KEY, at INTEGER, what TEXT, endpoint TEXT, project TEXT, branch TEXT, type TEXT, name TEXT
    ) STRICT;
    CREATE TRIGGER storm_made AFTER INSERT ON endpoints BEGIN ${write("made", "NEW")}; END;
    CREATE TRIGGER storm_changed AFTER UPDATE ON endpoints WHEN ${changed} BEGIN ${write("changed", "NEW")}; END;
    CREATE TRIGGER storm_up AFTER UPDATE ON endpoints WHEN OLD.started_at IS NOT NEW.started_at BEGIN
      ${write("up", "NEW")};
    END;
    CREATE TRIGGER storm_deleted AFTER DELETE ON endpoints BEGIN ${write("deleted", "OLD")}; END;
    CREATE TRIGGER storm_started AFTER INSERT ON operations WHEN NEW.action = 'start_compute' BEGIN
      ${write("started", "one")} FROM endpoints AS one WHERE one.id = NEW.endpoint_id;
    END;
  `);
  database.close();
}

/** The record, oldest first. Only while the service does not run. */
export function readLedger(file: string): Entry[] {
  const database = new DatabaseSync(file);
  const rows = database.prepare("SELECT * FROM storm_ledger ORDER BY seq").all();
  database.close();
  return rows.map((row) => entry.parse(row));
}

/** All endpoints that the service has. Only while it does not run. */
export function readEndpoints(file: string, projects: readonly string[]): StoredEndpoint[] {
  const store = Store.open(file);
  const endpoints = projects.flatMap((project) => store.endpoints.list(project));
  store.close();
  return endpoints;
}
