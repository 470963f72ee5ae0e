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
  /** `init` until its creation has finished, then `ready`. */
  currentState: string;
  stateChangedAt: number;
  /** The recorded usage of its computes, in milliseconds: active time, and active time times compute units. */
  activeMs: number;
  computeMs: number;
  details: BranchDetails;
  /** When it expires and is deleted, if it does. */
  expiresAt: number | undefined;
  createdAt: number;
  updatedAt: number;
}

export type NewBranch = Omit<Branch, "seq" | "stateChangedAt" | "updatedAt" | "activeMs" | "computeMs">;

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
    const row = this.#db.one("SELECT * FROM branches WHERE id = ? AND project_id = ?", id, projectId);
    return row && branchOf(row);
  }

  byId(id: string): Branch | undefined {
    const row = this.#db.one("SELECT * FROM branches WHERE id = ?", id);
    return row && branchOf(row);
  }

  exists(id: string): boolean {
    return this.#db.one("SELECT 1 AS found FROM branches WHERE id = ?", id) !== undefined;
  }

  default(projectId: string): Branch | undefined {
    const row = this.#db.one("SELECT * FROM branches WHERE project_id = ? AND is_default = 1", projectId);
    return row && branchOf(row);
  }

  /** All branches of a project, oldest first. */
  list(projectId: string): Branch[] {
    return this.#db.all("SELECT * FROM branches WHERE project_id = ? ORDER BY seq", projectId).map(branchOf);
  }

  count(projectId: string): number {
    const row = this.#db.one("SELECT count(*) AS count FROM branches WHERE project_id = ?", projectId);
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
    const sql = "SELECT * FROM branches WHERE project_id = ? AND parent_id = ? ORDER BY seq";
    return this.#db.all(sql, projectId, id).map(branchOf);
  }

  addUsage(id: string, activeMs: number, computeMs: number): void {
    const sql = "UPDATE branches SET active_ms = active_ms + ?, compute_ms = compute_ms + ? WHERE id = ?";
    this.#db.run(sql, activeMs, computeMs, id);
  }

  /** The branch that expires next. */
  nextToExpire(): { branch: Branch; due: number } | undefined {
    const row = this.#db.one("SELECT * FROM branches WHERE expires_at IS NOT NULL ORDER BY expires_at, seq LIMIT 1");
    return row && { branch: branchOf(row), due: number(row, "expires_at") };
  }

  delete(id: string): void {
    this.#db.run("DELETE FROM branches WHERE id = ?", id);
  }
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
