import { type Branch, branchFields, type Deletion, deletionKept, present } from "./branches.ts";
import type { Database } from "./database.ts";
import type { Found } from "./found.ts";
import { number, type Row } from "./row.ts";
import { Table } from "./table.ts";

/** A branch of a list that may have deleted ones. */
export interface ListedBranch extends Branch {
  deletion: Deletion | undefined;
}

/** The branches of a page: those with `search` in name or id, after the mark of one in an order. */
export interface BranchesWanted {
  search: string;
  by: "name" | "created_at" | "updated_at";
  descending: boolean;
  after: readonly [key: string | number, seq: string | number] | undefined;
  withDeleted: boolean;
  limit: number;
}

/** The branches of projects as lists show them. */
export class BranchPages {
  readonly #db: Database;
  readonly #listed: Table<ListedBranch>;

  constructor(db: Database) {
    this.#db = db;
    const read = (row: Row) => (row["deleted_at"] === null ? undefined : deletionKept.read(row));
    const { columns } = deletionKept;
    this.#listed = new Table(db, "branches", { ...branchFields, deletion: { columns, read, write: () => [] } });
  }

  /** The branches of a page. They are sorted by the index alone, so that what is read is what the page has. */
  page(projectId: string, wanted: BranchesWanted): Found<ListedBranch> {
    const { search, by, descending, after, withDeleted, limit } = wanted;
    const [direction, follows] = descending ? ["DESC", "<"] : ["ASC", ">"];
    const keyOf = (value: string) => (by === "name" ? `plain(${value})` : value);
    const rest = `(?3 IS NULL OR (${keyOf(by)}, seq) ${follows} (${keyOf("?3")}, ?4))`;
    const order = `${keyOf(by)} ${direction}, seq ${direction}`;
    const sql = `SELECT b.* FROM (SELECT id FROM ${listedWith(search, withDeleted)} AND ${rest} ORDER BY ${order} LIMIT ?5) wanted
      CROSS JOIN branches b ON b.id = wanted.id`;
    return this.#listed.found(sql, projectId, search, after?.[0], after?.[1], limit);
  }

  /** The number of branches with `search` in name or id. */
  countWith(projectId: string, search: string): number {
    const row = this.#db.one(`SELECT count(*) AS count FROM ${listedWith(search, false)}`, projectId, search);
    return row ? number(row, "count") : 0;
  }
}

/** The branches of a project with a text in name or id, without a look at more than an index has. */
function listedWith(search: string, withDeleted: boolean): string {
  const isSought = search === "" ? "?2 = ''" : "(instr(lower(name), lower(?2)) > 0 OR instr(id, ?2) > 0)";
  return `branches INDEXED BY branches_listed WHERE project_id = ?1 AND ${withDeleted ? "true" : present} AND ${isSought}`;
}
