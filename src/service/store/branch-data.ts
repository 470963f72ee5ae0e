import type { Database } from "./database.ts";
import { number, optionalText, type Row, text } from "./row.ts";

/** The Postgres data of a branch, where real servers run behind the computes. */
export interface BranchData {
  branchId: string;
  /** Names the directory: another one after each replacement of the data. */
  generation: string;
  /** As JSON: the roles and databases that were brought into it. */
  catalog: string;
  /** The largest limits that a server of it has had: its standbys need at least these. */
  maxConnections: number;
  maxWorkerProcesses: number;
  maxLocks: number;
}

/** A copy that is to be made. */
export interface CopyWanted {
  /** Larger than those of all that were wanted earlier. */
  seq: number;
  branchId: string;
  sourceId: string;
  /** As JSON: the point in the source's past that the copy shows; `undefined` for its present. */
  point: string | undefined;
}

export class BranchDataRows {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  get(branchId: string): BranchData | undefined {
    const row = this.#db.one("SELECT * FROM branch_data WHERE branch_id = ?", branchId);
    return row && branchDataOf(row);
  }

  all(): BranchData[] {
    return this.#db.all("SELECT * FROM branch_data ORDER BY branch_id").map(branchDataOf);
  }

  put({ branchId, generation, catalog, maxConnections, maxWorkerProcesses, maxLocks }: BranchData): void {
    this.#db.run(
      `INSERT INTO branch_data (branch_id, generation, catalog, max_connections, max_worker_processes, max_locks)
       VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (branch_id) DO UPDATE SET generation = excluded.generation, catalog = excluded.catalog,
         max_connections = excluded.max_connections, max_worker_processes = excluded.max_worker_processes,
         max_locks = excluded.max_locks`,
      branchId,
      generation,
      catalog,
      maxConnections,
      maxWorkerProcesses,
      maxLocks,
    );
  }

  /** The branches that are ready and have none, parents first. */
  missing(): string[] {
    const none = "id NOT IN (SELECT branch_id FROM branch_data)";
    const rows = this.#db.all(`SELECT id FROM branches WHERE current_state = 'ready' AND ${none} ORDER BY seq`);
    return rows.map((row) => text(row, "id"));
  }

  /**
   * Notes that the data of a branch is to become a copy of another one's. An earlier copy of it that was never made is
   * not made any more: what was to be a copy of the branch is then a copy of its source.
   */
  setSource({ branchId, sourceId, point }: { branchId: string; sourceId: string; point?: string }): void {
    const before = this.sourceOf(branchId);
    if (before && !this.get(branchId)) {
      this.#db.run("UPDATE branch_sources SET source_id = ? WHERE source_id = ?", before.sourceId, branchId);
    }
    this.clearSource(branchId);
    const sql = "INSERT INTO branch_sources (branch_id, source_id, point) VALUES (?, ?, ?)";
    this.#db.run(sql, branchId, sourceId, point);
  }

  /** The copy that a branch is to be. */
  sourceOf(branchId: string): CopyWanted | undefined {
    const row = this.#db.one("SELECT * FROM branch_sources WHERE branch_id = ?", branchId);
    return row && wantedOf(row);
  }

  /** The copies that are to be made, in the order in which they were asked for. */
  sources(): CopyWanted[] {
    return this.#db.all("SELECT * FROM branch_sources ORDER BY seq").map(wantedOf);
  }

  clearSource(branchId: string): void {
    this.#db.run("DELETE FROM branch_sources WHERE branch_id = ?", branchId);
  }
}

function wantedOf(row: Row): CopyWanted {
  return {
    seq: number(row, "seq"),
    branchId: text(row, "branch_id"),
    sourceId: text(row, "source_id"),
    point: optionalText(row, "point"),
  };
}

function branchDataOf(row: Row): BranchData {
  return {
    branchId: text(row, "branch_id"),
    generation: text(row, "generation"),
    catalog: text(row, "catalog"),
    maxConnections: number(row, "max_connections"),
    maxWorkerProcesses: number(row, "max_worker_processes"),
    maxLocks: number(row, "max_locks"),
  };
}
