import type { Database, Value } from "./database.ts";
import { BranchDetails, notePath } from "./details.ts";
import { idsOfOwners, type Owner, ofProject, ownerLists } from "./projects.ts";
import { flag, number, optionalNumber, optionalText, text } from "./row.ts";
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

export interface Branch {
  id: string;
  seq: number;
  projectId: string;
  parentId: string | undefined;
  name: string;
  isDefault: boolean;
  isProtected: boolean;
  /** `init` until its creation has finished, `resetting` while operations of a restore run, else `ready`. */
  currentState: string;
  stateChangedAt: number;
  /** The recorded usage of its computes, in milliseconds: active time, and active time times compute units. */
  activeMs: number;
  computeMs: number;
  details: BranchDetails;
  /** Time of its automatic deletion, if it expires. */
  expiresAt: number | undefined;
  createdAt: number;
  updatedAt: number;
}

/** The cause of a deletion: a caller, or the branch's end. */
export type DeletionMethod = "user" | "ttl";

/** The deletion of a branch: its time, its cause and the end of the time for recovery. */
export interface Deletion {
  at: number;
  until: number;
  method: DeletionMethod;
}

/** A branch that was deleted and can be recovered. */
export interface DeletedBranch extends Branch {
  deletion: Deletion;
}

export type NewBranch = Omit<Branch, "seq" | "stateChangedAt" | "updatedAt" | "activeMs" | "computeMs">;

/** The columns of a branch. */
export const branchFields: Fields<Branch> = {
  id: text,
  seq: number,
  projectId: text,
  parentId: optionalText,
  name: text,
  isDefault: flag,
  isProtected: flag,
  currentState: text,
  stateChangedAt: number,
  activeMs: number,
  computeMs: number,
  details: jsonOf(BranchDetails),
  expiresAt: optionalNumber,
  createdAt: number,
  updatedAt: number,
};

/** The columns of its deletion. */
export const deletionKept: Kept<Deletion> = {
  columns: ["deleted_at", "recoverable_until", "deletion_method"],
  read: (row) => ({
    at: number(row, "deleted_at"),
    until: number(row, "recoverable_until"),
    method: text(row, "deletion_method") === "ttl" ? "ttl" : "user",
  }),
  write: ({ at, until, method }) => [at, until, method],
};

/** The branches, without those that were deleted unless a method says so. */
export class Branches {
  readonly #db: Database;
  readonly #all: Table<Branch>;
  readonly #deleted: Table<DeletedBranch>;

  constructor(db: Database) {
    this.#db = db;
    this.#all = new Table(db, "branches", branchFields, "in-table");
    this.#deleted = new Table(db, "branches", { ...branchFields, deletion: deletionKept });
  }

  insert(branch: NewBranch): void {
    this.#all.insert({ ...branch, stateChangedAt: branch.createdAt, updatedAt: branch.createdAt });
  }

  get(projectId: string, id: string): Branch | undefined {
    return this.#all.one(`WHERE id = ? AND project_id = ? AND ${present}`, id, projectId);
  }

  /** One that was deleted and can be recovered. */
  deleted(projectId: string, id: string): DeletedBranch | undefined {
    return this.#deleted.one("WHERE id = ? AND project_id = ? AND deleted_at IS NOT NULL", id, projectId);
  }

  /** Deletes a branch so that it can be recovered. */
  hide(id: string, deleted: Deletion): void {
    this.#deleted.update({ deletion: deleted }, "WHERE id = ?", id);
  }

  /** Ends the recovery of a project's deleted branches, all but so many that were deleted last. */
  forgetBeyond(projectId: string, most: number, at: number): void {
    this.#forget(`SELECT id FROM branches ${deletedOf} ${newestFirst} LIMIT -1 OFFSET ?`, at, projectId, most);
  }

  /** The same, all but those deleted last that had so many computes together. */
  forgetComputesBeyond(projectId: string, most: number, at: number): void {
    const own = "(SELECT count(*) FROM deleted_endpoints d WHERE d.branch_id = branches.id)";
    const sums = `SELECT id, sum(${own}) OVER (${newestFirst}) AS computes FROM branches ${deletedOf}`;
    this.#forget(`SELECT id FROM (${sums}) WHERE computes > ?`, at, projectId, most);
  }

  /** Branches are then due to be forgotten: a deletion of thousands takes turns. */
  #forget(ids: string, at: number, ...values: Value[]): void {
    const which = `WHERE recoverable_until > ? AND id IN (${ids})`;
    this.#db.run(`UPDATE branches SET recoverable_until = ? ${which}`, at, at, ...values);
  }

  /** Takes the deletion of a branch back. */
  unhide(id: string): void {
    const nothing = "deleted_at = NULL, recoverable_until = NULL, deletion_method = NULL";
    this.#db.run(`UPDATE branches SET ${nothing} WHERE id = ?`, id);
  }

  /** True if a branch of the project has the name, also a deleted one that can be recovered. */
  isTaken(projectId: string, name: string): boolean {
    return this.#all.has("WHERE project_id = ? AND name = ?", projectId, name);
  }

  /** Also finds a deleted one that can be recovered, as its data is still there. */
  byId(id: string): Branch | undefined {
    return this.#all.one(`WHERE id = ? AND ${ofProject}`, id);
  }

  /** As `byId`. */
  exists(id: string): boolean {
    return this.#all.has(`WHERE id = ? AND ${ofProject}`, id);
  }

  default(projectId: string): Branch | undefined {
    return this.#all.one("WHERE project_id = ? AND is_default = 1", projectId);
  }

  /** All branches of a project, oldest first. */
  list(projectId: string): Branch[] {
    return this.#all.all(`WHERE project_id = ? AND ${present} ORDER BY seq`, projectId);
  }

  /** The oldest branches of a project, at most so many. */
  oldest(projectId: string, most: number): Branch[] {
    return this.#all.all(`WHERE project_id = ? AND ${present} ORDER BY seq LIMIT ?`, projectId, most);
  }

  /** The branches of a page: those with `search` in name, id or operator's note, in a state and an order. */
  find(projectId: string, wanted: RowsWanted, page: PageWanted): PageFound<Branch> {
    const isActive =
      "EXISTS (SELECT 1 FROM endpoints e WHERE e.branch_id = branches.id AND e.current_state = 'active')";
    const states: Record<string, string> = {
      "": "true",
      active: isActive,
      idle: `NOT ${isActive}`,
      ends: "expires_at IS NOT NULL",
      busy: "current_state <> 'ready'",
    };
    // Without a search, nothing is read of the rows that are counted.
    const isSought =
      wanted.search === ""
        ? "?2 = ''"
        : `(instr(lower(name), lower(?2)) > 0 OR instr(id, lower(?2)) > 0
      OR instr(lower(coalesce(json_extract(details, ${notePath("object")}), '')), lower(?2)) > 0)`;
    const where = `WHERE project_id = ?1 AND ${present} AND ${orderOf(states, wanted.state)} AND ${isSought}`;
    return this.#all.paged(where, orderOf(branchOrders, wanted.sort), [projectId, wanted.search], page);
  }

  /** The length of what is kept with all branches of a project, deleted ones too, as it is stored. */
  lengthOfDetails(projectId: string): number {
    return this.#all.length("details", "WHERE project_id = ?", projectId);
  }

  /** The number of branches of a project, or of those of a kind. */
  count(projectId: string, kind: BranchKind = "any"): number {
    return this.#all.count(`WHERE project_id = ? AND ${present} AND ${branchKinds[kind]}`, projectId);
  }

  /** The projects among these that have more branches of a kind. */
  projectsBeyond(
    projectIds: readonly string[],
    { any, root, protected: shielded }: Record<BranchKind, number>,
  ): string[] {
    const isMore = (kind: BranchKind) => `count(*) FILTER (WHERE ${branchKinds[kind]}) > ?`;
    const sql = `SELECT project_id FROM json_each(?) wanted CROSS JOIN branches ON project_id = wanted.value
      WHERE ${present} GROUP BY project_id HAVING ${isMore("any")} OR ${isMore("root")} OR ${isMore("protected")}`;
    return this.#db.all(sql, JSON.stringify(projectIds), any, root, shielded).map((row) => text(row, "project_id"));
  }

  setState(id: string, currentState: string, at: number): void {
    this.#all.update({ currentState, stateChangedAt: at, updatedAt: at }, "WHERE id = ?", id);
  }

  /** Stores all fields of a branch that a call can change. */
  update({ id, parentId, name, isProtected, details, expiresAt }: Branch, at: number): void {
    const changed = { parentId, name, isProtected, details, expiresAt, updatedAt: at };
    this.#all.update(changed, "WHERE id = ?", id);
  }

  /** Makes a branch the default branch of its project, instead of the previous one. */
  setDefault({ id, projectId }: Branch, at: number): void {
    this.#all.update({ isDefault: false, updatedAt: at }, "WHERE project_id = ? AND is_default = 1", projectId);
    this.#all.update({ isDefault: true, updatedAt: at }, "WHERE id = ?", id);
  }

  /** Gives the children of a branch another parent. */
  giveChildren({ id, projectId }: Branch, parentId: string, at: number): void {
    const children = `WHERE project_id = ? AND parent_id = ? AND ${present}`;
    this.#all.update({ parentId, updatedAt: at }, children, projectId, id);
  }

  hasChildren({ id, projectId }: Branch): boolean {
    return this.#all.has(`WHERE project_id = ? AND parent_id = ? AND ${present}`, projectId, id);
  }

  addUsage(id: string, usage: Pick<Branch, "activeMs" | "computeMs">): void {
    this.#all.increase(usage, "WHERE id = ?", id);
  }

  /** The branches of some owners' projects that expire until a time, the next one first. */
  expiring(owners: readonly Owner[], until: number, limit: number): Branch[] {
    const next = `SELECT b.id FROM ${idsOfOwners} owned CROSS JOIN branches b INDEXED BY branches_ending ON b.project_id = owned.id
      WHERE b.expires_at <= ?3 AND b.${present} ORDER BY b.expires_at, b.seq LIMIT ?4`;
    const sql = `SELECT b.* FROM (${next}) wanted CROSS JOIN branches b ON b.id = wanted.id ORDER BY b.expires_at, b.seq`;
    return this.#all.select(sql, ...ownerLists(owners), until, limit);
  }

  /** The branch that expires next; one whose data another branch is still to get stays until then. */
  nextToExpire(): { id: string; due: number } | undefined {
    const isSource = "EXISTS (SELECT 1 FROM branch_sources WHERE source_id = branches.id)";
    const free = `expires_at IS NOT NULL AND ${present} AND NOT ${isSource} AND ${ofProject}`;
    return this.#next("expires_at", free);
  }

  /** The deleted branch that can no longer be recovered next. */
  nextToForget(): { id: string; due: number } | undefined {
    return this.#next("recoverable_until", "recoverable_until IS NOT NULL");
  }

  #next(due: "expires_at" | "recoverable_until", where: string): { id: string; due: number } | undefined {
    const row = this.#db.one(`SELECT id, ${due} FROM branches WHERE ${where} ORDER BY ${due}, seq LIMIT 1`);
    return row && { id: text(row, "id"), due: number(row, due) };
  }

  /** Puts off the end of a branch, or that of a deleted one's recovery. */
  postpone(id: string, due: number): void {
    const later =
      "expires_at = iif(deleted_at IS NULL, ?1, expires_at), recoverable_until = iif(deleted_at IS NULL, NULL, ?1)";
    this.#db.run(`UPDATE branches SET ${later} WHERE id = ?2`, due, id);
  }

  delete(id: string): void {
    this.#all.delete("WHERE id = ?", id);
  }
}

/** A condition on a branch that was not deleted. */
export const present = "deleted_at IS NULL";
const deletedOf = "INDEXED BY branches_deleted WHERE project_id = ? AND deleted_at IS NOT NULL";
const newestFirst = "ORDER BY deleted_at DESC, seq DESC";

export type BranchKind = keyof typeof branchKinds;

const branchKinds = { any: "true", root: "parent_id IS NULL", protected: "is_protected = 1" };

const branchOrders = {
  "": "seq",
  newest: "seq DESC",
  name: "name, seq",
  ends: "expires_at IS NULL, expires_at, seq",
  used: "compute_ms DESC, seq",
};
