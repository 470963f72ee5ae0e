import type { Database, Value } from "./database.ts";
import { notePath } from "./details.ts";
import { idsOfOwners, type Owner, ownerLists } from "./projects.ts";
import { number, type Row, text } from "./row.ts";
import { orderOf, type PageFound, type PageWanted, type RowsWanted } from "./table.ts";
import { computeMs, type Look, sizesIn, valuesOf, withSizes } from "./unbooked.ts";

/** The computes to find, `search` in their id or name, or in the name or id of their branch. */
export interface ComputeFilter extends RowsWanted {
  owners: readonly Owner[];
  /** The only branch to look in, if any. */
  branchId?: string;
  /** Parts of a signature: a name that begins with `fleet` or contains `key` is found too. */
  signature: { fleet: string; key: string };
  /** The first day whose usage counts, and a look at what is not recorded yet. */
  used: { since: number; look: Look };
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
    { owners, branchId, search, signature, state, sort, used }: ComputeFilter,
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
    const [computes, where] =
      branchId === undefined
        ? [
            `${idsOfOwners} owned CROSS JOIN endpoints e INDEXED BY endpoints_by_project`,
            "e.project_id = owned.id AND ?9 IS NULL",
          ]
        : ["endpoints e INDEXED BY endpoints_by_branch", `e.branch_id = ?9 AND e.project_id IN ${idsOfOwners}`];
    const branches = search === "" && sort !== "branch" ? "" : "JOIN branches b ON b.id = e.branch_id";
    const isSought = search === "" ? "true OR coalesce(?3, ?4, ?5, ?6, ?7, ?8)" : matches.join(" OR ");
    const sizes = sort === "used" ? withSizes : "";
    const from = `FROM ${computes} ${branches} ${sizes} WHERE ${where} AND ${orderOf(states, state)} AND (${isSought})`;
    const isNote = search.includes("/") || uid !== sought;
    const values = [...ownerLists(owners), sought, uid, signature.fleet, signature.key, isNote, search, branchId];
    const order = orderOf(orders, sort);
    const key = order.replace(/ DESC$/, "");
    // All at once: counted first, each row would be compared twice. Numbers are bound as such with a point.
    const sql = `${sizesIn(places)}, found AS MATERIALIZED (SELECT e.id, e.seq, ${key} AS key ${from}),
      place AS MATERIALIZED (SELECT count(*) AS total, min(CAST(?15 AS INTEGER), (count(*) - 1) / CAST(?14 AS INTEGER)) AS page FROM found)
      SELECT id, (SELECT total FROM place) AS total, (SELECT page FROM place) AS page FROM found ORDER BY key${order.slice(key.length)}, seq
      LIMIT ?14 OFFSET (SELECT page * CAST(?14 AS INTEGER) FROM place)`;
    const found = this.#db.all(sql, ...values, ...usedBy(used), wanted.size, wanted.page - 1);
    const ids = found.map((row) => text(row, "id"));
    const [first] = found;
    const place = first ? { total: number(first, "total"), page: number(first, "page") + 1 } : { total: 0, page: 1 };
    return { rows: this.#named(ids, used), ...place };
  }

  /** Some computes, in their order. */
  #named(ids: readonly string[], used: ComputeFilter["used"]): FoundCompute[] {
    const rows = this.#db.all(
      `${sizesIn(places)} SELECT e.id, p.name AS project_name, b.name AS branch_name, ${usedMs} AS used_ms
         FROM json_each(?1) wanted CROSS JOIN endpoints e ON e.id = wanted.value
         JOIN branches b ON b.id = e.branch_id JOIN projects p ON p.id = e.project_id ${withSizes} ORDER BY wanted.key`,
      JSON.stringify(ids),
      ...Array<undefined>(8),
      ...usedBy(used),
    );
    return rows.map(foundOf);
  }
}

const places = ["?11", "?12", "?13"] as const;

function usedBy({ since, look }: ComputeFilter["used"]): Value[] {
  return [since, ...valuesOf(look)];
}

/** The usage of a compute since a day: as it is recorded, and what is not recorded yet. */
const usedMs = `(SELECT total(d.compute_ms) FROM endpoint_days d WHERE d.endpoint_id = e.id AND d.day BETWEEN ?10 AND ?11 / 86400000)
  + coalesce(${computeMs(places, "?10 * 86400000")}, 0)`;

const states: Record<string, string> = {
  "": "true",
  active: "e.current_state = 'active'",
  idle: "e.current_state = 'idle'",
  starting: "(e.current_state = 'init' OR e.pending_state = 'active')",
  disabled: "e.disabled = 1",
};

/** Then by age. */
const orders = {
  "": "e.seq",
  primary: "e.type = 'read_write' DESC",
  newest: "e.seq DESC",
  branch: "b.name",
  used: `${usedMs} DESC`,
  size: "e.max_cu DESC",
  active: "e.last_active DESC",
};

function foundOf(row: Row): FoundCompute {
  return {
    id: text(row, "id"),
    projectName: text(row, "project_name"),
    branchName: text(row, "branch_name"),
    usedMs: number(row, "used_ms"),
  };
}
