import type { Database } from "./database.ts";
import { notePath } from "./details.ts";
import { type Owner, ofOwners, ownerLists } from "./projects.ts";
import { number, type Row, text } from "./row.ts";
import { orderOf, type PageFound, type PageWanted, pageAmong, type RowsWanted } from "./table.ts";

/** The computes to find, `search` in their id or name, or in the name or id of their branch. */
export interface ComputeFilter extends RowsWanted {
  owners: readonly Owner[];
  /** The only branch to look in, if any. */
  branchId?: string;
  /** Parts of a signature: a name that begins with `fleet` or contains `key` is found too. */
  signature: { fleet: string; key: string };
  /** The first day whose usage counts, and the usage since then that is not recorded, in milliseconds by id. */
  usage: { since: number; unbooked: Readonly<Record<string, number>> };
}

/** A compute that was found, and where it is. */
export interface FoundCompute {
  id: string;
  projectName: string;
  branchName: string;
  /** Active time times compute units since the first day that counts, in milliseconds. */
  usedMs: number;
}

/** Finds computes in all projects of some owners. */
export class ComputeSearch {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  find(
    { owners, branchId, search, signature, state, sort, usage }: ComputeFilter,
    wanted: PageWanted,
  ): PageFound<FoundCompute> {
    const columns = ["e.id", "lower(coalesce(e.name, ''))", "lower(b.name)", "b.id"];
    // The name of an operator's compute ends with the uid of its object, without hyphens where it has a fleet.
    const sought = search.toLowerCase();
    const uid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(sought) ? sought.replaceAll("-", "") : sought;
    const matches = [
      ...columns.map((column) => `instr(${column}, ?3) > 0`),
      "instr(coalesce(e.name, ''), ?4) > 0",
      "instr(coalesce(e.name, ''), ?5) = 1",
      "instr(coalesce(e.name, ''), ?6) > 0",
      // Read only where a note is looked for: the details of a branch are JSON.
      `?7 AND json_extract(b.details, ${notePath("object")}) = ?8`,
      `?7 AND json_extract(b.details, ${notePath("uid")}) = ?8`,
    ];
    const from = `FROM endpoints e JOIN branches b ON b.id = e.branch_id JOIN projects p ON p.id = e.project_id
         WHERE ${ofOwners("p")} AND (?9 IS NULL OR e.branch_id = ?9) AND ${orderOf(states, state)} AND (${matches.join(" OR ")})`;
    const isNote = search.includes("/") || uid !== sought;
    const values = [...ownerLists(owners), sought, uid, signature.fleet, signature.key, isNote, search, branchId];
    const row = this.#db.one(`SELECT count(*) AS count ${from}`, ...values);
    const total = row ? number(row, "count") : 0;
    const { page, offset } = pageAmong(total, wanted);
    // Kept as a table of its own, which is read once and found by its key.
    const running = "WITH running AS MATERIALIZED (SELECT key AS id, value AS ms FROM json_each(?13))";
    const used = `coalesce((SELECT sum(d.compute_ms) FROM endpoint_days d WHERE d.endpoint_id = e.id AND d.day >= ?12), 0)
        + coalesce((SELECT r.ms FROM running r WHERE r.id = e.id), 0) AS used_ms`;
    const rows = this.#db.all(
      `${running} SELECT e.id, p.name AS project_name, b.name AS branch_name, ${used}
         ${from} ORDER BY ${orderOf(orders, sort)} LIMIT ?10 OFFSET ?11`,
      ...values,
      wanted.size,
      offset,
      usage.since,
      JSON.stringify(usage.unbooked),
    );
    return { rows: rows.map(foundOf), total, page };
  }
}

const states: Record<string, string> = {
  "": "true",
  active: "e.current_state = 'active'",
  idle: "e.current_state = 'idle'",
  starting: "(e.current_state = 'init' OR e.pending_state = 'active')",
  disabled: "e.disabled = 1",
};

const orders = {
  "": "e.seq",
  primary: "e.type = 'read_write' DESC, e.seq",
  newest: "e.seq DESC",
  branch: "b.name, e.seq",
  used: "used_ms DESC, e.seq",
  size: "e.max_cu DESC, e.seq",
  active: "e.last_active DESC, e.seq",
};

function foundOf(row: Row): FoundCompute {
  return {
    id: text(row, "id"),
    projectName: text(row, "project_name"),
    branchName: text(row, "branch_name"),
    usedMs: number(row, "used_ms"),
  };
}
