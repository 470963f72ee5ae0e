import type { Database, Value } from "./database.ts";
import { flag, number, optionalText, type Row, text } from "./row.ts";

/** Whom a project belongs to. */
export type Owner = { kind: "account"; id: string } | { kind: "organization"; id: string };

export interface Project {
  id: string;
  /** The order of creation: the cursor of lists. */
  seq: number;
  name: string;
  owner: Owner;
  regionId: string;
  pgVersion: number;
  /** What its computes have used as far as it is booked, in milliseconds: active, and weighed with compute units. */
  activeMs: number;
  computeMs: number;
  createdAt: number;
  updatedAt: number;
}

export interface Branch {
  id: string;
  seq: number;
  projectId: string;
  parentId: string | undefined;
  name: string;
  isDefault: boolean;
  isProtected: boolean;
  /** `init` until its creation has run, then `ready`. */
  currentState: string;
  stateChangedAt: number;
  createdAt: number;
  updatedAt: number;
}

/** Which projects to list: those of all these owners. */
export interface ProjectFilter {
  owners: readonly Owner[];
  /** A part of name or id. */
  search?: string | undefined;
  afterSeq?: number | undefined;
  limit: number;
}

export class Projects {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(project: Omit<Project, "seq" | "activeMs" | "computeMs">): void {
    this.#db.run(
      `INSERT INTO projects (id, seq, name, owner_account_id, owner_organization_id, region_id, pg_version, created_at, updated_at)
       VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM projects), ?, ?, ?, ?, ?, ?, ?)`,
      project.id,
      project.name,
      ...ownerColumns(project.owner),
      project.regionId,
      project.pgVersion,
      project.createdAt,
      project.updatedAt,
    );
  }

  get(id: string): Project | undefined {
    const row = this.#db.one("SELECT * FROM projects WHERE id = ?", id);
    return row && projectOf(row);
  }

  list({ owners, search, afterSeq, limit }: ProjectFilter): Project[] {
    const accounts = JSON.stringify(owners.filter(({ kind }) => kind === "account").map(({ id }) => id));
    const organizations = JSON.stringify(owners.filter(({ kind }) => kind === "organization").map(({ id }) => id));
    return this.#db
      .all(
        `SELECT * FROM projects
         WHERE (owner_account_id IN (SELECT value FROM json_each(?)) OR owner_organization_id IN (SELECT value FROM json_each(?)))
           AND seq > ? AND (instr(lower(name), lower(?)) > 0 OR instr(id, lower(?)) > 0)
         ORDER BY seq LIMIT ?`,
        accounts,
        organizations,
        afterSeq ?? 0,
        search ?? "",
        search ?? "",
        limit,
      )
      .map(projectOf);
  }

  rename(id: string, name: string, at: number): void {
    this.#db.run("UPDATE projects SET name = ?, updated_at = ? WHERE id = ?", name, at, id);
  }

  addUsage(id: string, activeMs: number, computeMs: number): void {
    const sql = "UPDATE projects SET active_ms = active_ms + ?, compute_ms = compute_ms + ? WHERE id = ?";
    this.#db.run(sql, activeMs, computeMs, id);
  }

  setOwner(id: string, owner: Owner, at: number): void {
    const sql = "UPDATE projects SET owner_account_id = ?, owner_organization_id = ?, updated_at = ? WHERE id = ?";
    this.#db.run(sql, ...ownerColumns(owner), at, id);
  }

  /** With its branches, endpoints and operations. */
  delete(id: string): void {
    this.#db.run("DELETE FROM endpoints WHERE project_id = ?", id);
    this.#db.run("DELETE FROM projects WHERE id = ?", id);
  }
}

export class Branches {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(branch: Omit<Branch, "seq" | "stateChangedAt" | "updatedAt">): void {
    const { id, projectId, parentId, name, isDefault, isProtected, currentState, createdAt } = branch;
    this.#db.run(
      `INSERT INTO branches (id, seq, project_id, parent_id, name, is_default, is_protected, current_state, state_changed_at, created_at, updated_at)
       VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM branches), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      projectId,
      parentId,
      name,
      isDefault,
      isProtected,
      currentState,
      createdAt,
      createdAt,
      createdAt,
    );
  }

  get(projectId: string, id: string): Branch | undefined {
    const row = this.#db.one("SELECT * FROM branches WHERE id = ? AND project_id = ?", id, projectId);
    return row && branchOf(row);
  }

  exists(id: string): boolean {
    return this.#db.one("SELECT 1 AS found FROM branches WHERE id = ?", id) !== undefined;
  }

  default(projectId: string): Branch | undefined {
    const row = this.#db.one("SELECT * FROM branches WHERE project_id = ? AND is_default = 1", projectId);
    return row && branchOf(row);
  }

  /** All of a project, oldest first. */
  list(projectId: string): Branch[] {
    return this.#db.all("SELECT * FROM branches WHERE project_id = ? ORDER BY seq", projectId).map(branchOf);
  }

  setState(id: string, state: string, at: number): void {
    const sql = "UPDATE branches SET current_state = ?, state_changed_at = ?, updated_at = ? WHERE id = ?";
    this.#db.run(sql, state, at, at, id);
  }

  delete(id: string): void {
    this.#db.run("DELETE FROM branches WHERE id = ?", id);
  }
}

function ownerColumns(owner: Owner): [Value, Value] {
  return owner.kind === "account" ? [owner.id, undefined] : [undefined, owner.id];
}

function projectOf(row: Row): Project {
  const account = optionalText(row, "owner_account_id");
  return {
    id: text(row, "id"),
    seq: number(row, "seq"),
    name: text(row, "name"),
    owner:
      account === undefined
        ? { kind: "organization", id: text(row, "owner_organization_id") }
        : { kind: "account", id: account },
    regionId: text(row, "region_id"),
    pgVersion: number(row, "pg_version"),
    activeMs: number(row, "active_ms"),
    computeMs: number(row, "compute_ms"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
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
    stateChangedAt: number(row, "state_changed_at"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}
