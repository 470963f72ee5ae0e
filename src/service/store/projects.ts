import type { Database } from "./database.ts";
import { type DefaultEndpointSettings, type ProjectDetails, StoredProjectDetails } from "./details.ts";
import { number, optionalNumber, optionalText, text } from "./row.ts";
import {
  type Fields,
  jsonOf,
  type Kept,
  orderOf,
  type PageFound,
  type PageWanted,
  type RowsWanted,
  Table,
} from "./table.ts";

/** Whom a project belongs to. */
export type Owner = { kind: "account"; id: string } | { kind: "organization"; id: string };

export interface Project {
  id: string;
  /** The order of creation, which is the cursor of lists. */
  seq: number;
  name: string;
  owner: Owner;
  regionId: string;
  pgVersion: number;
  /** The recorded usage of its computes, in milliseconds: active time, and active time times compute units. */
  activeMs: number;
  computeMs: number;
  details: ProjectDetails;
  createdAt: number;
  updatedAt: number;
}

/** The owners whose projects are listed. */
export interface ProjectFilter {
  owners: readonly Owner[];
  /** A part of name or id. */
  search?: string | undefined;
  afterSeq?: number | undefined;
  /** The only project, if not all of them. */
  id?: string | undefined;
  limit: number;
}

const ownerKept: Kept<Owner> = {
  columns: ["owner_account_id", "owner_organization_id"],
  read(row) {
    const account = optionalText(row, "owner_account_id");
    if (account !== undefined) return { kind: "account", id: account };
    return { kind: "organization", id: text(row, "owner_organization_id") };
  },
  write: ({ kind, id }) => (kind === "account" ? [id, undefined] : [undefined, id]),
};

export class Projects {
  readonly #db: Database;
  readonly #table: Table<Project>;
  #moves = 0;

  constructor(db: Database) {
    this.#db = db;
    const fields: Fields<Project> = {
      id: text,
      seq: number,
      name: text,
      owner: ownerKept,
      regionId: text,
      pgVersion: number,
      activeMs: number,
      computeMs: number,
      details: jsonOf(StoredProjectDetails),
      createdAt: number,
      updatedAt: number,
    };
    this.#table = new Table(db, "projects", fields, "in-table");
  }

  insert(project: Omit<Project, "seq" | "activeMs" | "computeMs">): void {
    this.#table.insert(project);
  }

  get(id: string): Project | undefined {
    return this.#table.one("WHERE id = ? AND removed = 0", id);
  }

  list({ owners, search, afterSeq, id, limit }: ProjectFilter): Project[] {
    return this.#table.all(
      `WHERE id IN ${idsOfOwners} AND ${namedAs} AND seq > ?4 AND (?5 IS NULL OR id = ?5) ORDER BY seq LIMIT ?6`,
      ...ownerLists(owners),
      search ?? "",
      afterSeq ?? 0,
      id,
      limit,
    );
  }

  any(owners: readonly Owner[]): boolean {
    return this.#db.one(`SELECT 1 FROM ${idsOfOwners} LIMIT 1`, ...ownerLists(owners)) !== undefined;
  }

  /** The projects of a page: those with `search` in name or id, in a state and an order. */
  find(owners: readonly Owner[], wanted: RowsWanted, page: PageWanted): PageFound<Project> {
    const isActive =
      "EXISTS (SELECT 1 FROM endpoints e INDEXED BY endpoints_metered WHERE e.project_id = projects.id AND e.metered_at IS NOT NULL)";
    const states: Record<string, string> = { "": "true", active: isActive, idle: `NOT ${isActive}` };
    const where = `WHERE id IN ${idsOfOwners} AND ${orderOf(states, wanted.state)} AND ${namedAs}`;
    const orders = { "": "seq", newest: "seq DESC", name: "name, seq", used: "compute_ms DESC, seq" };
    return this.#table.paged(where, orderOf(orders, wanted.sort), [...ownerLists(owners), wanted.search], page);
  }

  /** The length of what is kept with all projects of an owner, as it is stored. */
  lengthOfDetails(owner: Owner): number {
    return this.#table.length("details", `WHERE id IN ${idsOfOwners}`, ...ownerLists([owner]));
  }

  /** The same of some projects. */
  lengthAmong(ids: readonly string[]): number {
    return this.#table.length("details", "WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  }

  count({ kind, id }: Owner): number {
    return this.#table.count(`WHERE owner_${kind}_id = ? AND removed = 0`, id);
  }

  /** The number of branches, or of computes, of all projects of an owner. */
  countWithin(owner: Owner, what: "branches" | "computes"): number {
    const of = {
      branches: "branches b INDEXED BY branches_listed ON b.project_id = owned.id AND b.deleted_at IS NULL",
      computes: "endpoints e INDEXED BY endpoints_by_project ON e.project_id = owned.id",
    };
    const sql = `SELECT count(*) AS count FROM ${idsOfOwners} owned CROSS JOIN ${of[what]}`;
    const row = this.#db.one(sql, ...ownerLists([owner]));
    return row ? number(row, "count") : 0;
  }

  /** The major versions of Postgres that projects have. */
  majorVersions(): number[] {
    return this.#db.all("SELECT DISTINCT pg_version FROM projects").map((row) => number(row, "pg_version"));
  }

  change(id: string, { name, details }: Pick<Project, "name" | "details">, at: number): void {
    this.#table.update({ name, details, updatedAt: at }, "WHERE id = ?", id);
  }

  addUsage(id: string, usage: Pick<Project, "activeMs" | "computeMs">): void {
    this.#table.increase(usage, "WHERE id = ?", id);
  }

  /**
   * The compute time of some owners' projects from each of some hours until a last one, counted from the epoch, as in
   * `Period`. Where the clock was set back there are later ones.
   */
  computeMsSince(owners: readonly Owner[], hours: readonly number[], last: number): number[] {
    const sums = hours.map((_, n) => `total(u.compute_ms) FILTER (WHERE u.hour >= ?${n + 3}) AS sum${n}`);
    const sql = `SELECT ${sums.join(", ")} FROM ${idsOfOwners} owned CROSS JOIN usage_hours u ON u.project_id = owned.id
      WHERE u.hour BETWEEN ?${hours.length + 3} AND ?${hours.length + 4}`;
    const row = this.#db.one(sql, ...ownerLists(owners), ...hours, Math.min(...hours), last) ?? {};
    return hours.map((_, n) => number(row, `sum${n}`));
  }

  /** The ids among these of an owner's projects. */
  among(ids: readonly string[], owner: Owner): string[] {
    const sql = `SELECT value AS id FROM json_each(?3) WHERE value IN ${idsOfOwners}`;
    return this.#db.all(sql, ...ownerLists([owner]), JSON.stringify(ids)).map((row) => text(row, "id"));
  }

  /** The sizes and the inactivity that new computes of some projects have: each kind once, with one of its projects. */
  usualShapes(ids: readonly string[]): { id: string; usual: DefaultEndpointSettings }[] {
    const [min, max, suspend] = ["autoscaling_limit_min_cu", "autoscaling_limit_max_cu", "suspend_timeout_seconds"].map(
      (name) => `json_extract(details, '$.default_endpoint_settings.${name}')`,
    );
    const sql = `SELECT min(id) AS id, ${min} AS min, ${max} AS max, ${suspend} AS suspend FROM projects
      WHERE id IN (SELECT value FROM json_each(?)) GROUP BY 2, 3, 4`;
    return this.#db.all(sql, JSON.stringify(ids)).map((row) => ({
      id: text(row, "id"),
      usual: {
        autoscaling_limit_min_cu: optionalNumber(row, "min"),
        autoscaling_limit_max_cu: optionalNumber(row, "max"),
        suspend_timeout_seconds: optionalNumber(row, "suspend"),
      },
    }));
  }

  /** Number of times that projects were given to other owners, since the process started. */
  get moves(): number {
    return this.#moves;
  }

  setOwner(ids: readonly string[], owner: Owner, at: number): void {
    this.#moves += 1;
    this.#table.update({ owner, updatedAt: at }, "WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  }

  /** As if it and all that belongs to it were deleted. */
  remove(id: string): void {
    this.#db.run("UPDATE projects SET removed = 1 WHERE id = ?", id);
  }
}

/** A condition on a branch or compute that is found by its id alone: its project was not deleted. */
export const ofProject = "EXISTS (SELECT 1 FROM projects p WHERE p.id = project_id AND p.removed = 0)";

const idsWhere = (column: string, place: string) =>
  `SELECT id FROM projects WHERE ${column} IN (SELECT value FROM json_each(${place})) AND removed = 0`;

/** The ids of the projects of the owners whose lists are the first two values: an index has them, rows are long. */
export const idsOfOwners = `(${idsWhere("owner_account_id", "?1")} UNION ALL ${idsWhere("owner_organization_id", "?2")})`;

/** A condition on a project: its name or id has the third value in it. */
const namedAs = "(?3 = '' OR instr(lower(name), lower(?3)) > 0 OR instr(id, lower(?3)) > 0)";

/** The ids of the accounts and of the organizations among owners, each as JSON. */
export function ownerLists(owners: readonly Owner[]): [accounts: string, organizations: string] {
  const idsOf = (kind: Owner["kind"]) => JSON.stringify(owners.filter((one) => one.kind === kind).map(({ id }) => id));
  return [idsOf("account"), idsOf("organization")];
}
