import type { Database } from "./database.ts";
import { BranchDetails } from "./details.ts";
import { flag, number, optionalNumber, optionalText, type Row, text } from "./row.ts";

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

/** The fields by which lists of branches are searched and sorted. */
export type BranchEntry = Pick<Branch, "id" | "seq" | "name" | "createdAt" | "updatedAt">;

export type NewBranch = Omit<Branch, "seq" | "stateChangedAt" | "updatedAt" | "activeMs" | "computeMs">;

/** The branches, without those that were deleted unless a method says so. */
export class Branches {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(branch: NewBranch): void {
    const { id, projectId, parentId, name, isDefault, isProtected, currentState, details, expiresAt, createdAt } =
      branch;
    this.#db.run(
      `INSERT INTO branches (id, seq, project_id, parent_id, name, is_default, is_protected, current_state, details, expires_at, state_changed_at, created_at, updated_at)
       VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM branches), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      projectId,
      parentId,
      name,
      isDefault,
      isProtected,
      currentState,
      JSON.stringify(details),
      expiresAt,
      createdAt,
      createdAt,
      createdAt,
    );
  }

  get(projectId: string, id: string): Branch | undefined {
    const row = this.#db.one(`SELECT * FROM branches WHERE id = ? AND project_id = ? AND ${present}`, id, projectId);
    return row && branchOf(row);
  }

  /** One that was deleted and can be recovered. */
  deleted(projectId: string, id: string): DeletedBranch | undefined {
    const sql = "SELECT * FROM branches WHERE id = ? AND project_id = ? AND deleted_at IS NOT NULL";
    const row = this.#db.one(sql, id, projectId);
    return row && deletedOf(row);
  }

  /** All of a project that were deleted and can be recovered, oldest first. */
  listDeleted(projectId: string): DeletedBranch[] {
    const sql = "SELECT * FROM branches WHERE project_id = ? AND deleted_at IS NOT NULL ORDER BY seq";
    return this.#db.all(sql, projectId).map(deletedOf);
  }

  /** Deletes a branch so that it can be recovered. */
  hide(id: string, { at, until, method }: Deletion): void {
    const sql = "UPDATE branches SET deleted_at = ?, recoverable_until = ?, deletion_method = ? WHERE id = ?";
    this.#db.run(sql, at, until, method, id);
  }

  /** Takes the deletion of a branch back. */
  unhide(id: string): void {
    const nothing = "deleted_at = NULL, recoverable_until = NULL, deletion_method = NULL";
    this.#db.run(`UPDATE branches SET ${nothing} WHERE id = ?`, id);
  }

  /** True if a branch of the project has the name, also a deleted one that can be recovered. */
  isTaken(projectId: string, name: string): boolean {
    const sql = "SELECT 1 AS found FROM branches WHERE project_id = ? AND name = ? LIMIT 1";
    return this.#db.one(sql, projectId, name) !== undefined;
  }

  /** Also finds a deleted one that can be recovered, as its data is still there. */
  byId(id: string): Branch | undefined {
    const row = this.#db.one("SELECT * FROM branches WHERE id = ?", id);
    return row && branchOf(row);
  }

  /** As `byId`, for many at once, in their order. */
  byIds(ids: readonly string[]): Branch[] {
    const sql =
      "SELECT branches.* FROM json_each(?) AS wanted JOIN branches ON branches.id = wanted.value ORDER BY wanted.key";
    return this.#db.all(sql, JSON.stringify(ids)).map(branchOf);
  }

  /** As `byId`. */
  exists(id: string): boolean {
    return this.#db.one("SELECT 1 AS found FROM branches WHERE id = ?", id) !== undefined;
  }

  default(projectId: string): Branch | undefined {
    const row = this.#db.one("SELECT * FROM branches WHERE project_id = ? AND is_default = 1", projectId);
    return row && branchOf(row);
  }

  /** As `list`, the deleted ones that can be recovered among them, by what lists are searched and sorted by. */
  index(projectId: string, { withDeleted }: { withDeleted: boolean }): BranchEntry[] {
    const which = withDeleted ? "" : `AND ${present}`;
    const sql = `SELECT id, seq, name, created_at, updated_at FROM branches WHERE project_id = ? ${which} ORDER BY seq`;
    return this.#db.all(sql, projectId).map((row) => ({
      id: text(row, "id"),
      seq: number(row, "seq"),
      name: text(row, "name"),
      createdAt: number(row, "created_at"),
      updatedAt: number(row, "updated_at"),
    }));
  }

  /** All branches of a project, oldest first. */
  list(projectId: string): Branch[] {
    return this.#db
      .all(`SELECT * FROM branches WHERE project_id = ? AND ${present} ORDER BY seq`, projectId)
      .map(branchOf);
  }

  /** The branches of a page, the oldest on the first one. */
  page(projectId: string, page: number, perPage: number): Branch[] {
    const sql = `SELECT * FROM branches WHERE project_id = ? AND ${present} ORDER BY seq LIMIT ? OFFSET ?`;
    return this.#db.all(sql, projectId, perPage, (page - 1) * perPage).map(branchOf);
  }

  /** The length of what is kept with all branches of a project, deleted ones too, as it is stored. */
  lengthOfDetails(projectId: string): number {
    const row = this.#db.one(
      "SELECT coalesce(sum(length(details)), 0) AS sum FROM branches WHERE project_id = ?",
      projectId,
    );
    return row ? number(row, "sum") : 0;
  }

  count(projectId: string): number {
    const row = this.#db.one(`SELECT count(*) AS count FROM branches WHERE project_id = ? AND ${present}`, projectId);
    return row ? number(row, "count") : 0;
  }

  setState(id: string, state: string, at: number): void {
    const sql = "UPDATE branches SET current_state = ?, state_changed_at = ?, updated_at = ? WHERE id = ?";
    this.#db.run(sql, state, at, at, id);
  }

  /** Stores all fields of a branch that a call can change. */
  update({ id, parentId, name, isProtected, details, expiresAt }: Branch, at: number): void {
    this.#db.run(
      `UPDATE branches SET parent_id = ?, name = ?, is_protected = ?, details = ?, expires_at = ?, updated_at = ? WHERE id = ?`,
      parentId,
      name,
      isProtected,
      JSON.stringify(details),
      expiresAt,
      at,
      id,
    );
  }

  /** Makes a branch the default branch of its project, instead of the previous one. */
  setDefault({ id, projectId }: Branch, at: number): void {
    const end = "UPDATE branches SET is_default = 0, updated_at = ? WHERE project_id = ? AND is_default = 1";
    this.#db.run(end, at, projectId);
    this.#db.run("UPDATE branches SET is_default = 1, updated_at = ? WHERE id = ?", at, id);
  }

  childrenOf({ id, projectId }: Branch): Branch[] {
    const sql = `SELECT * FROM branches WHERE project_id = ? AND parent_id = ? AND ${present} ORDER BY seq`;
    return this.#db.all(sql, projectId, id).map(branchOf);
  }

  addUsage(id: string, activeMs: number, computeMs: number): void {
    const sql = "UPDATE branches SET active_ms = active_ms + ?, compute_ms = compute_ms + ? WHERE id = ?";
    this.#db.run(sql, activeMs, computeMs, id);
  }

  /** The branch that expires next. */
  nextToExpire(): { branch: Branch; due: number } | undefined {
    const ends = `expires_at IS NOT NULL AND ${present}`;
    const row = this.#db.one(`SELECT * FROM branches WHERE ${ends} ORDER BY expires_at, seq LIMIT 1`);
    return row && { branch: branchOf(row), due: number(row, "expires_at") };
  }

  /** The deleted branch that can no longer be recovered next. */
  nextToForget(): { id: string; due: number } | undefined {
    const deleted = "recoverable_until IS NOT NULL ORDER BY recoverable_until, seq LIMIT 1";
    const row = this.#db.one(`SELECT id, recoverable_until FROM branches WHERE ${deleted}`);
    return row && { id: text(row, "id"), due: number(row, "recoverable_until") };
  }

  delete(id: string): void {
    this.#db.run("DELETE FROM branches WHERE id = ?", id);
  }
}

const present = "deleted_at IS NULL";

function deletedOf(row: Row): DeletedBranch {
  const method = text(row, "deletion_method") === "ttl" ? "ttl" : "user";
  const deletion = { at: number(row, "deleted_at"), until: number(row, "recoverable_until"), method } as const;
  return { ...branchOf(row), deletion };
}

function branchOf(row: Row): Branch {
  return {
    id: text(row, "id"),
    seq: number(row, "seq"),
    projectId: text(row, "project_id"),
    parentId: optionalText(row, "parent_id"),
    name: text(row, "name"),
    isDefault: flag(row, "is_default"),
    isProtected: flag(row, "is_protected"),
    currentState: text(row, "current_state"),
    activeMs: number(row, "active_ms"),
    computeMs: number(row, "compute_ms"),
    details: BranchDetails.parse(JSON.parse(text(row, "details"))),
    expiresAt: optionalNumber(row, "expires_at"),
    stateChangedAt: number(row, "state_changed_at"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}
