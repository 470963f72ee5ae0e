import type { Database } from "./database.ts";
import { flag, number, text } from "./row.ts";
import { Table } from "./table.ts";

/** A client's connection to a compute. */
export interface Connection {
  id: number;
  endpointId: string;
  pooled: boolean;
  closesAt: number;
}

export class Connections {
  readonly #db: Database;
  readonly #table: Table<Connection>;

  constructor(db: Database) {
    this.#db = db;
    this.#table = new Table(db, "connections", { id: number, endpointId: text, pooled: flag, closesAt: number });
  }

  open(connection: Omit<Connection, "id">): void {
    this.#table.insert(connection);
  }

  count(endpointId: string, pooled: boolean): number {
    return this.#table.count("WHERE endpoint_id = ? AND pooled = ?", endpointId, pooled);
  }

  /** The number of direct connections of each compute that has some. */
  directCounts(): Map<string, number> {
    const sql = "SELECT endpoint_id, count(*) AS n FROM connections WHERE pooled = 0 GROUP BY endpoint_id";
    return new Map(this.#db.all(sql).map((row) => [text(row, "endpoint_id"), number(row, "n")]));
  }

  any(endpointId: string): boolean {
    return this.#table.has("WHERE endpoint_id = ?", endpointId);
  }

  /** Closes a connection whose time is over. */
  close(id: number): void {
    this.#table.delete("WHERE id = ?", id);
  }

  /** Closes all connections to a compute and returns their number. */
  cut(endpointId: string): number {
    return this.#table.delete("WHERE endpoint_id = ?", endpointId);
  }

  /** Of computes whose last client came later than now, all close earlier by so much. */
  setBack(at: number): void {
    const ahead = "(SELECT last_active - ?1 FROM endpoints WHERE id = endpoint_id)";
    this.#db.run(`UPDATE connections SET closes_at = closes_at - ${ahead} WHERE ${ahead} > 0`, at);
  }

  /** The connection that closes next. */
  nextToClose(): Connection | undefined {
    return this.#table.one("ORDER BY closes_at, id LIMIT 1");
  }

  postpone(id: number, closesAt: number): void {
    this.#table.update({ closesAt }, "WHERE id = ?", id);
  }
}
