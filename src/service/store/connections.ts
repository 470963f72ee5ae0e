import type { Database } from "./database.ts";
import { number, type Row, text } from "./row.ts";

/** A client's connection to a compute. */
export interface Connection {
  id: number;
  endpointId: string;
  pooled: boolean;
  closesAt: number;
}

export class Connections {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  open(connection: Omit<Connection, "id">): void {
    const sql = "INSERT INTO connections (endpoint_id, pooled, closes_at) VALUES (?, ?, ?)";
    this.#db.run(sql, connection.endpointId, connection.pooled, connection.closesAt);
  }

  count(endpointId: string, pooled: boolean): number {
    const sql = "SELECT count(*) AS open FROM connections WHERE endpoint_id = ? AND pooled = ?";
    return number(this.#db.one(sql, endpointId, pooled) ?? { open: 0 }, "open");
  }

  any(endpointId: string): boolean {
    return this.#db.one("SELECT 1 AS found FROM connections WHERE endpoint_id = ? LIMIT 1", endpointId) !== undefined;
  }

  /** Closes a connection whose time is over. */
  close(id: number): void {
    this.#db.run("DELETE FROM connections WHERE id = ?", id);
  }

  /** Closes all connections to a compute and returns their number. */
  cut(endpointId: string): number {
    return this.#db.run("DELETE FROM connections WHERE endpoint_id = ?", endpointId);
  }

  /** The connection that closes next. */
  nextToClose(): Connection | undefined {
    const row = this.#db.one("SELECT * FROM connections ORDER BY closes_at, id LIMIT 1");
    return row && connectionOf(row);
  }
}

function connectionOf(row: Row): Connection {
  return {
    id: number(row, "id"),
    endpointId: text(row, "endpoint_id"),
    pooled: number(row, "pooled") !== 0,
    closesAt: number(row, "closes_at"),
  };
}
