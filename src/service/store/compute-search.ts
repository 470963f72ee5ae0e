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
  /**
   * The first day whose usage counts, and the usage since then that is not recorded, in milliseconds by id: of some
   * computes, or of all.
   */
  usage: { since: number; unbooked: (ids?: readonly string[]) => Readonly<Record<string, number>> };
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
    // The name of an operator's compute ends with the uid of its object, without hyphens where it has a fleet.
    const sought = search.toLowerCase();
    const uid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(sought) ? sought.replaceAll("-", "") : sought;
    const matches = [
      "instr(e.id, ?3) > 0",
      "instr(b.id, ?3) > 0",
      // Once for both names: it costs more than all else.
      "instr(lower(coalesce(e.name, '') || char(10) || b.name), ?3) > 0",
      "instr(coalesce(e.name, ''), ?4) > 0",
      "instr(coalesce(e.name, ''), ?5) = 1",
      "instr(coalesce(e.name, ''), ?6) > 0",
      // Read only where a note is looked for: the details of a branch are JSON.
      `?7 AND json_extract(b.details, ${notePath("object")}) = ?8`,
      `?7 AND json_extract(b.details, ${notePath("uid")}) = ?8`,
    ];
    // Tables are read where the list needs them: it shows few of thousands of rows.
    const computes =
      branchId === undefined
        ? "projects p CROSS JOIN endpoints e INDEXED BY endpoints_by_project ON e.project_id = p.id AND ?9 IS NULL"
        : "endpoints e INDEXED BY endpoints_by_branch CROSS JOIN projects p ON p.id = e.project_id AND e.branch_id = ?9";
    const branches = search === "" && sort !== "branch" ? "" : "JOIN branches b ON b.id = e.branch_id";
    const isSought = search === "" ? "true OR coalesce(?3, ?4, ?5, ?6, ?7, ?8)" : matches.join(" OR ");
    const from = `FROM ${computes} ${branches} WHERE ${ofOwners("p")} AND ${orderOf(states, state)} AND (${isSought})`;
    const isNote = search.includes("/") || uid !== sought;
    const values = [...ownerLists(owners), sought, uid, signature.fleet, signature.key, isNote, search, branchId];
    const order = orderOf(orders, sort);
    // Kept as a table of its own, which is read once and found by its key.
    const running = "WITH running AS MATERIALIZED (SELECT key AS id, value AS ms FROM json_each(?13))";
    const byUse = order === orders.used;
    // All at once: counted first, each row would be compared twice.
    const found = byUse
      ? this.#db.all(
          `${running} SELECT e.id, ${used} + ${unbooked} AS used_ms ${from} ORDER BY ${order}`,
          ...values,
          undefined,
          undefined,
          usage.since,
          JSON.stringify(usage.unbooked()),
        )
      : this.#db.all(`SELECT e.id ${from} ORDER BY ${order}`, ...values);
    const { page, offset } = pageAmong(found.length, wanted);
    const ids = found.slice(offset, offset + wanted.size).map((one) => text(one, "id"));
    return { rows: this.#named(ids, usage), total: found.length, page };
  }

  /** Some computes, in their order. */
  #named(ids: readonly string[], { since, unbooked: unbookedOf }: ComputeFilter["usage"]): FoundCompute[] {
    const rows = this.#db.all(
      `WITH running AS MATERIALIZED (SELECT key AS id, value AS ms FROM json_each(?13))
         SELECT e.id, p.name AS project_name, b.name AS branch_name, ${used} + ${unbooked} AS used_ms
         FROM json_each(?1) wanted CROSS JOIN endpoints e ON e.id = wanted.value
         JOIN branches b ON b.id = e.branch_id JOIN projects p ON p.id = e.project_id ORDER BY wanted.key`,
      JSON.stringify(ids),
      ...Array<undefined>(10),
      since,
      JSON.stringify(unbookedOf(ids)),
    );
    return rows.map(foundOf);
  }
}

/** The usage of a compute since a day, as it is recorded, and what is not recorded yet. */
const used = "coalesce((SELECT sum(d.compute_ms) FROM endpoint_days d WHERE d.endpoint_id = e.id AND d.day >= ?12), 0)";
const unbooked = "coalesce((SELECT r.ms FROM running r WHERE r.id = e.id), 0)";

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
