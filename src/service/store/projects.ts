import type { Database, Value } from "./database.ts";
import { ProjectDetails } from "./details.ts";
import { number, optionalText, type Row, text } from "./row.ts";

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
  limit: number;
}

export class Projects {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(project: Omit<Project, "seq" | "activeMs" | "computeMs">): void {
    this.#db.run(
      `INSERT INTO projects (id, seq, name, owner_account_id, owner_organization_id, region_id, pg_version, details, created_at, updated_at)
       VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM projects), ?, ?, ?, ?, ?, ?, ?, ?)`,
      project.id,
      project.name,
      ...ownerColumns(project.owner),
      project.regionId,
      project.pgVersion,
      JSON.stringify(project.details),
      project.createdAt,
      project.updatedAt,
    );
  }

  get(id: string): Project | undefined {
    const row = this.#db.one("SELECT * FROM projects WHERE id = ?", id);
    return row && projectOf(row);
  }

  list({ owners, search, afterSeq, limit }: ProjectFilter): Project[] {
    return this.#db
      .all(
        `SELECT * FROM projects
         WHERE (owner_account_id IN (SELECT value FROM json_each(?)) OR owner_organization_id IN (SELECT value FROM json_each(?)))
           AND seq > ? AND (instr(lower(name), lower(?)) > 0 OR instr(id, lower(?)) > 0)
         ORDER BY seq LIMIT ?`,
        ...ownerLists(owners),
        afterSeq ?? 0,
        search ?? "",
        search ?? "",
        limit,
      )
      .map(projectOf);
  }

  /** The major versions of Postgres that projects have. */
  majorVersions(): number[] {
    return this.#db.all("SELECT DISTINCT pg_version FROM projects").map((row) => number(row, "pg_version"));
  }

  change(id: string, { name, details }: Pick<Project, "name" | "details">, at: number): void {
    const sql = "UPDATE projects SET name = ?, details = ?, updated_at = ? WHERE id = ?";
    this.#db.run(sql, name, JSON.stringify(details), at, id);
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

/** The ids of the accounts and of the organizations among owners, each as JSON. */
export function ownerLists(owners: readonly Owner[]): [accounts: string, organizations: string] {
  const idsOf = (kind: Owner["kind"]) => JSON.stringify(owners.filter((one) => one.kind === kind).map(({ id }) => id));
  return [idsOf("account"), idsOf("organization")];
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
    details: ProjectDetails.parse(JSON.parse(text(row, "details"))),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}
