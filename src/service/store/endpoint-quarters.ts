import type { Database } from "./database.ts";
import { number } from "./row.ts";
import { Table } from "./table.ts";

/** The activity of a compute in a quarter of an hour. */
export interface Quarter {
  /** The quarters of an hour between the epoch and its beginning. */
  quarter: number;
  /** Time on the clock that it was active, in milliseconds. */
  activeMs: number;
  /** Active time times compute units, in milliseconds of the service's scaled time. */
  computeMs: number;
  /** The most connections that were seen at one time. */
  connections: number;
  /** Number of times that it became active. */
  wakes: number;
}

/** Number of quarters kept for each compute: a day. */
export const keptQuarters = 24 * 4;

/** The last day of each compute. */
export class EndpointQuarters {
  readonly #db: Database;
  readonly #table: Table<Quarter>;

  constructor(db: Database) {
    this.#db = db;
    const fields = { quarter: number, activeMs: number, computeMs: number, connections: number, wakes: number };
    this.#table = new Table(db, "endpoint_quarters", fields);
  }

  /** Adds to a quarter; of connections the largest number counts. */
  add(endpointId: string, { quarter, activeMs, computeMs, connections, wakes }: Quarter): void {
    this.#db.run(
      `INSERT INTO endpoint_quarters (endpoint_id, quarter, active_ms, compute_ms, connections, wakes)
       VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (endpoint_id, quarter) DO UPDATE SET active_ms = active_ms + excluded.active_ms,
         compute_ms = compute_ms + excluded.compute_ms, connections = max(connections, excluded.connections),
         wakes = wakes + excluded.wakes`,
      endpointId,
      quarter,
      activeMs,
      computeMs,
      connections,
      wakes,
    );
    this.#table.delete("WHERE endpoint_id = ? AND quarter <= ?", endpointId, quarter - keptQuarters);
  }

  /** The quarters of a compute from one on, oldest first; those in which it was not active are left out. */
  since(endpointId: string, quarter: number): Quarter[] {
    return this.#table.all("WHERE endpoint_id = ? AND quarter >= ? ORDER BY quarter", endpointId, quarter);
  }
}
