import type { Database } from "./database.ts";

const project = "(SELECT id FROM projects WHERE removed = 1 ORDER BY seq LIMIT 1)";
const computes = "(SELECT id FROM removed_endpoints ORDER BY id LIMIT 10)";

/** Each deletes a few rows, and only where those before it find none: nothing outlives the row that it belongs to. */
const statements: readonly string[] = [
  `DELETE FROM endpoints WHERE id IN (SELECT id FROM endpoints WHERE project_id = ${project} LIMIT 50)`,
  `DELETE FROM branches WHERE id IN (SELECT id FROM branches WHERE project_id = ${project} LIMIT 1)`,
  `DELETE FROM operations WHERE seq IN (SELECT seq FROM operations WHERE project_id = ${project} LIMIT 200)`,
  `DELETE FROM projects WHERE id = ${project}`,
  `DELETE FROM endpoint_quarters WHERE endpoint_id IN ${computes}`,
  `DELETE FROM endpoint_days WHERE endpoint_id IN ${computes}`,
  `DELETE FROM removed_endpoints WHERE id IN ${computes}`,
];

/**
 * Rows of what was deleted, which may be hundreds of thousands: they are found no more, and cleared in turns of the
 * loop. The ids stay taken meanwhile, so that nothing new gets rows of something removed.
 */
export class Removed {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  any(): boolean {
    const sql = "SELECT 1 FROM projects WHERE removed = 1 UNION ALL SELECT 1 FROM removed_endpoints LIMIT 1";
    return this.#db.one(sql) !== undefined;
  }

  /** Clears a few rows; answers false where none is left. */
  clearSome(): boolean {
    return statements.some((sql) => this.#db.run(sql) > 0);
  }
}
