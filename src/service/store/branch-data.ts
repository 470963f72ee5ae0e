import type { Database } from "./database.ts";
import { ofProject } from "./projects.ts";
import { flag, number, optionalText, text } from "./row.ts";
import { Table } from "./table.ts";

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

/** The name of the directory that holds the data of a branch. */
export type DataName = Pick<BranchData, "branchId" | "generation">;

/** A copy that is to be made. */
export interface CopyWanted {
  /** Larger than those of all that were wanted earlier. */
  seq: number;
  branchId: string;
  sourceId: string;
  /** As JSON: the state of the source that the copy shows; `undefined` for that which it has when it is copied. */
  point: string | undefined;
  /** True for a copy of the schema alone. */
  schemaOnly: boolean;
  /** As JSON: what a restore has replaced beside the data, to be put back where it fails. */
  replaced: string | undefined;
}

/** The branch that a copy is for, and the one that it is of. */
type WantedName = Pick<CopyWanted, "branchId" | "sourceId">;

export class BranchDataRows {
  readonly #db: Database;
  readonly #data: Table<BranchData>;
  /** The names alone, which are looked at after every change: roles and databases may be long. */
  readonly #names: Table<DataName>;
  readonly #wanted: Table<CopyWanted>;
  /** The names alone: what a restore has replaced may be long, and a thousand copies wait at a start. */
  readonly #wantedNames: Table<WantedName>;

  constructor(db: Database) {
    this.#db = db;
    const largest = { maxConnections: number, maxWorkerProcesses: number, maxLocks: number };
    this.#data = new Table(db, "branch_data", { branchId: text, generation: text, catalog: text, ...largest });
    this.#names = new Table(db, "branch_data", { branchId: text, generation: text });
    this.#wantedNames = new Table(db, "branch_sources", { branchId: text, sourceId: text });
    this.#wanted = new Table(db, "branch_sources", {
      seq: number,
      branchId: text,
      sourceId: text,
      point: optionalText,
      schemaOnly: flag,
      replaced: optionalText,
    });
  }

  get(branchId: string): BranchData | undefined {
    return this.#data.one("WHERE branch_id = ?", branchId);
  }

  any(): boolean {
    return this.#data.has("");
  }

  nameOf(branchId: string): DataName | undefined {
    return this.#names.one("WHERE branch_id = ?", branchId);
  }

  /** The names of all data, of deleted branches that can be recovered too. */
  names(): DataName[] {
    return this.#names.all("ORDER BY branch_id");
  }

  put(data: BranchData): void {
    this.#data.upsert(data);
  }

  /** The branches that are ready and have none, parents first. */
  missing(): string[] {
    const ready = `WHERE current_state = 'ready' AND lacks_data = 1 AND ${ofProject}`;
    const rows = this.#db.all(`SELECT id FROM branches INDEXED BY branches_without_data ${ready} ORDER BY seq`);
    return rows.map((row) => text(row, "id"));
  }

  /**
   * Notes that the data of a branch is to become a copy of another one's. An earlier copy of it that was never made is
   * not made any more: what was to be a copy of the branch is then a copy of its source, at the point that the branch
   * was to show, or an earlier one of its own, and without rows where the branch was to have none. Where the branch was
   * to begin empty, its copies do: they would wait for data that it never gets.
   */
  setSource(wanted: Pick<CopyWanted, "branchId" | "sourceId"> & Partial<CopyWanted>): void {
    const { branchId } = wanted;
    const before = this.sourceOf(branchId);
    if (!before && !this.get(branchId)) this.#wanted.delete("WHERE source_id = ?", branchId);
    if (before && !this.get(branchId)) {
      const at = "json_extract(point, '$.at') < json_extract(?2, '$.at')";
      const lsn = "json_extract(point, '$.kind') = 'lsn' AND json_extract(?2, '$.kind') = 'call'";
      const shown = `CASE WHEN ${at} OR ${lsn} THEN point ELSE coalesce(?2, point) END`;
      const changed = `source_id = ?1, point = ${shown}, schema_only = max(schema_only, ?4)`;
      const moved = `UPDATE branch_sources SET ${changed} WHERE source_id = ?3`;
      this.#db.run(moved, before.sourceId, before.point, branchId, before.schemaOnly);
    }
    this.clearSource(branchId);
    this.#wanted.insert({ schemaOnly: false, ...wanted });
  }

  /** The copy that a branch is to be. */
  sourceOf(branchId: string): CopyWanted | undefined {
    return this.#wanted.one("WHERE branch_id = ?", branchId);
  }

  /** The copies asked for before another one that concern its data: what its source is to be, and what get its own. */
  before({ seq, branchId, sourceId }: CopyWanted): CopyWanted[] {
    // Two searches: for both at once SQLite goes through all copies of all accounts in their order.
    const earlier = "AND +seq < ? ORDER BY +seq";
    return [
      ...this.#wanted.all(`WHERE branch_id = ? ${earlier}`, sourceId, seq),
      ...this.#wanted.all(`WHERE source_id = ? ${earlier}`, branchId, seq),
    ];
  }

  /** The copies that are to be made, in the order in which they were asked for. */
  sources(): WantedName[] {
    return this.#wantedNames.all("ORDER BY seq");
  }

  /** True if the data of another branch is still to be copied from this one. */
  isSource(branchId: string): boolean {
    return this.#wanted.has("WHERE source_id = ?", branchId);
  }

  clearSource(branchId: string): void {
    this.#wanted.delete("WHERE branch_id = ?", branchId);
  }
}
