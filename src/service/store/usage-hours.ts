import type { Database } from "./database.ts";
import { type Owner, ofOwners, ownerLists } from "./projects.ts";
import { number } from "./row.ts";
import { Table } from "./table.ts";

/** Usage of a project's computes in one hour. */
export interface UsageHour {
  /** The hours between the epoch and its beginning. */
  hour: number;
  /** Time on the clock that computes were active, in milliseconds, summed over computes. */
  activeMs: number;
  /** Active time times compute units, in milliseconds of the service's scaled time. */
  computeMs: number;
  /** The most computes that were seen active at one time. */
  peak: number;
}

/** Number of hours kept: a week. */
const kept = 7 * 24;

/** The usage of projects by the hour. */
export class UsageHours {
  readonly #db: Database;
  readonly #table: Table<UsageHour>;

  constructor(db: Database) {
    this.#db = db;
    this.#table = new Table(db, "usage_hours", { hour: number, activeMs: number, computeMs: number, peak: number });
  }

  /** Adds to an hour; of peaks the largest counts. */
  add(projectId: string, { hour, activeMs, computeMs, peak }: UsageHour): void {
    this.#db.run(
      `INSERT INTO usage_hours (project_id, hour, active_ms, compute_ms, peak) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (project_id, hour) DO UPDATE SET active_ms = active_ms + excluded.active_ms,
         compute_ms = compute_ms + excluded.compute_ms, peak = max(peak, excluded.peak)`,
      projectId,
      hour,
      activeMs,
      computeMs,
      peak,
    );
    this.#table.delete("WHERE project_id = ? AND hour <= ?", projectId, hour - kept);
  }

  /** The hours of a project from one on, oldest first; those without usage are left out. */
  since(projectId: string, hour: number): UsageHour[] {
    return this.#table.all("WHERE project_id = ? AND hour >= ? ORDER BY hour", projectId, hour);
  }
  /** The compute time of some owners' projects from an hour on, as in `UsageHour`. */
  computeMsSince(owners: readonly Owner[], hour: number): number {
    const sql = `SELECT coalesce(sum(u.compute_ms), 0) AS sum FROM usage_hours u JOIN projects p ON p.id = u.project_id
      WHERE u.hour >= ?3 AND ${ofOwners}`;
    const row = this.#db.one(sql, ...ownerLists(owners), hour);
    return row ? number(row, "sum") : 0;
  }
}
