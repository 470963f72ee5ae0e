import type { Database } from "./database.ts";
import { type Owner, ownerLists } from "./projects.ts";
import { number, type Row, text } from "./row.ts";

/** The computes to find. */
export interface ComputeFilter {
  owners: readonly Owner[];
  /** A part of the compute's id or name, or of the name or id of its branch. */
  search: string;
  /** Parts of signatures: one of them at its beginning, or the other one in it, is as good. */
  signature: { fleet: string; key: string };
  /** End of the page before. */
  after: number | undefined;
  limit: number;
}

/** A compute that was found, and where it is. */
export interface FoundCompute {
  seq: number;
  id: string;
  projectName: string;
  branchName: string;
}

/** Finds computes in all projects of some owners, in the order of creation. */
export class ComputeSearch {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  find({ owners, search, signature, after, limit }: ComputeFilter): FoundCompute[] {
    const columns = ["e.id", "lower(coalesce(e.name, ''))", "lower(b.name)", "b.id"];
    // The name of an operator's compute ends with the uid of its object, without hyphens where it has a fleet.
    const sought = search.toLowerCase();
    const uid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(sought) ? sought.replaceAll("-", "") : sought;
    const matches = [
      ...columns.map((column) => `instr(${column}, ?1) > 0`),
      "instr(coalesce(e.name, ''), ?2) > 0",
      "instr(coalesce(e.name, ''), ?7) = 1",
      "instr(coalesce(e.name, ''), ?8) > 0",
      // Read only where a note is looked for: the details of a branch are JSON.
      `?9 AND json_extract(b.details, ${noted("object")}) = ?10`,
      `?9 AND json_extract(b.details, ${noted("uid")}) = ?10`,
    ];
    return this.#db
      .all(
        `SELECT e.seq, e.id, p.name AS project_name, b.name AS branch_name
         FROM endpoints e JOIN branches b ON b.id = e.branch_id JOIN projects p ON p.id = e.project_id
         WHERE (p.owner_account_id IN (SELECT value FROM json_each(?3)) OR p.owner_organization_id IN (SELECT value FROM json_each(?4)))
           AND e.seq > ?5 AND (${matches.join(" OR ")})
         ORDER BY e.seq LIMIT ?6`,
        sought,
        uid,
        ...ownerLists(owners),
        after ?? 0,
        limit,
        signature.fleet,
        signature.key,
        search.includes("/") || uid !== sought,
        search,
      )
      .map(foundOf);
  }
}

function noted(name: string): string {
  return `'$.annotations."compute-operator.dev/${name}"'`;
}

function foundOf(row: Row): FoundCompute {
  return {
    seq: number(row, "seq"),
    id: text(row, "id"),
    projectName: text(row, "project_name"),
    branchName: text(row, "branch_name"),
  };
}
