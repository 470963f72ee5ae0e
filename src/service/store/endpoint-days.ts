import type { Database } from "./database.ts";

/** Number of days kept for each compute: a week, and the day on which it began. */
const keptDays = 8;

/** The usage of computes by the day, in UTC. */
export class EndpointDays {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Adds active time times compute units to a day, counted from the epoch; in milliseconds of scaled time. */
  add(endpointId: string, day: number, computeMs: number): void {
    this.#db.run(
      `INSERT INTO endpoint_days (endpoint_id, day, compute_ms) VALUES (?, ?, ?)
       ON CONFLICT (endpoint_id, day) DO UPDATE SET compute_ms = compute_ms + excluded.compute_ms`,
      endpointId,
      day,
      computeMs,
    );
    this.#db.run("DELETE FROM endpoint_days WHERE endpoint_id = ? AND day <= ?", endpointId, day - keptDays);
  }
}
