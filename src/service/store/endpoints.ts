import { z } from "zod";
import { type EndpointState, type EndpointType, endpointStates } from "../../api/endpoint.ts";
import { attributeFields, type StoredAttributes } from "./compute-attributes.ts";
import type { Database } from "./database.ts";
import type { Found } from "./found.ts";
import { ofProject } from "./projects.ts";
import { number, optionalNumber, optionalText, type Row, text } from "./row.ts";
import { type Fields, oneOf, Table } from "./table.ts";

/** A compute as stored. */
export interface StoredEndpoint extends StoredAttributes {
  id: string;
  projectId: string;
  branchId: string;
  type: EndpointType;
  name: string | undefined;
  currentState: EndpointState;
  /** The state after the operations in progress; absent if there are none. */
  pendingState: EndpointState | undefined;
  /** Time at which it last served a client, or started. */
  lastActive: number | undefined;
  startedAt: number | undefined;
  suspendedAt: number | undefined;
  /** Time of its suspension for inactivity, unless a client connects. */
  suspendDue: number | undefined;
  /** The time until which its usage is recorded; absent while it is not active. */
  meteredAt: number | undefined;
  createdAt: number;
  updatedAt: number;
}

const State = z.enum(endpointStates);

const state = (row: Row, column: string) => State.parse(text(row, column));
const optionalState = (row: Row, column: string) => State.optional().parse(optionalText(row, column));

const changeable: Fields<Omit<StoredEndpoint, "id" | "projectId" | "type" | "createdAt">> = {
  branchId: text,
  name: optionalText,
  ...attributeFields,
  currentState: state,
  pendingState: optionalState,
  lastActive: optionalNumber,
  startedAt: optionalNumber,
  suspendedAt: optionalNumber,
  suspendDue: optionalNumber,
  meteredAt: optionalNumber,
  updatedAt: number,
};

const kept: Fields<StoredEndpoint> = {
  id: text,
  projectId: text,
  type: oneOf(["read_only", "read_write"], "read_write"),
  ...changeable,
  createdAt: number,
};

/** A compute as far as its usage needs it: a page adds up thousands. */
export type MeteredEndpoint = Pick<StoredEndpoint, "id" | "projectId" | "branchId" | "minCu" | "maxCu" | "meteredAt">;

/** The attributes of a compute that the plan of its owner bounds. */
export type ComputeShape = Pick<StoredEndpoint, "minCu" | "maxCu" | "suspendTimeoutSeconds">;

const meteredFields: Fields<MeteredEndpoint> = {
  id: kept.id,
  projectId: kept.projectId,
  branchId: kept.branchId,
  minCu: kept.minCu,
  maxCu: kept.maxCu,
  meteredAt: kept.meteredAt,
};

/** A project's computes, or a branch's. */
export interface ComputesOf {
  projectId?: string;
  branchId?: string;
}

const metered = "INDEXED BY endpoints_metered WHERE project_id = ? AND metered_at IS NOT NULL";

export class Endpoints {
  readonly #db: Database;
  readonly #table: Table<StoredEndpoint>;
  readonly #metered: Table<MeteredEndpoint>;
  readonly #shapes: Table<ComputeShape & { projectId: string }>;
  readonly #changeable: Table<Partial<StoredEndpoint>>;
  readonly #deleted: Table<StoredEndpoint>;
  readonly #operatorChanges: Table<{ endpointId: string; changedAt: number }>;
  readonly #onChange: (projectId: string) => void;

  /** `onChange` is called with every project in which an endpoint changes. */
  constructor(db: Database, onChange: (projectId: string) => void) {
    this.#db = db;
    this.#table = new Table(db, "endpoints", kept, "in-table");
    this.#metered = new Table(db, "endpoints", meteredFields);
    const { projectId, minCu, maxCu, suspendTimeoutSeconds } = kept;
    this.#shapes = new Table(db, "endpoints", { projectId, minCu, maxCu, suspendTimeoutSeconds });
    this.#changeable = new Table(db, "endpoints", changeable);
    this.#deleted = new Table(db, "deleted_endpoints", kept);
    this.#operatorChanges = new Table(db, "operator_changes", { endpointId: text, changedAt: number });
    this.#onChange = onChange;
  }

  insert(endpoint: StoredEndpoint): void {
    this.#table.insert(endpoint);
    this.#onChange(endpoint.projectId);
  }

  /** Stores all fields of an endpoint that can change. */
  update(endpoint: StoredEndpoint): void {
    this.#changeable.update(endpoint, "WHERE id = ?", endpoint.id);
    this.#onChange(endpoint.projectId);
  }

  get(projectId: string, id: string): StoredEndpoint | undefined {
    return this.#table.one("WHERE id = ? AND project_id = ?", id, projectId);
  }

  byId(id: string): StoredEndpoint | undefined {
    return this.#table.one(`WHERE id = ? AND ${ofProject}`, id);
  }

  /** The ids among these that no endpoint has. */
  goneAmong(ids: readonly string[]): Set<string> {
    const there = `SELECT 1 FROM endpoints WHERE endpoints.id = value AND ${ofProject}`;
    const sql = `SELECT value AS gone FROM json_each(?) WHERE NOT EXISTS (${there})`;
    return new Set(this.#db.all(sql, JSON.stringify([...new Set(ids)])).map((row) => text(row, "gone")));
  }

  /** All endpoints of a project, oldest first. */
  list(projectId: string): StoredEndpoint[] {
    return [...this.of(projectId)];
  }

  /** The oldest endpoints of a branch, at most so many; -1 for all. */
  ofBranch(branchId: string, most = -1): StoredEndpoint[] {
    return this.#table.all("WHERE branch_id = ? ORDER BY seq LIMIT ?", branchId, most);
  }

  /** As `list`, each read when it is reached. */
  of(projectId: string): Found<StoredEndpoint> {
    return this.#table.find("WHERE project_id = ? ORDER BY seq", projectId);
  }

  /** All endpoints of a branch, oldest first, each read when it is reached. */
  on(branchId: string): Found<StoredEndpoint> {
    return this.#table.find("WHERE branch_id = ? ORDER BY seq", branchId);
  }

  /** The primary of a branch, of which there is at most one. */
  primaryOf(branchId: string): StoredEndpoint | undefined {
    return this.#table.one("WHERE branch_id = ? AND type = 'read_write'", branchId);
  }

  /** The computes of a project whose usage is being metered. */
  metered(projectId: string): MeteredEndpoint[] {
    return this.#metered.all(metered, projectId);
  }

  /** The metered ones of some computes. */
  meteredAmong(ids: readonly string[]): MeteredEndpoint[] {
    const among = "WHERE id IN (SELECT value FROM json_each(?)) AND metered_at IS NOT NULL";
    return this.#metered.all(among, JSON.stringify(ids));
  }

  /** The number of computes on a branch, of those that are active, and of primaries. */
  countsOf(branchId: string): { all: number; active: number; primaries: number } {
    const sql = `SELECT count(*) AS n, coalesce(sum(current_state = 'active'), 0) AS active,
      coalesce(sum(type = 'read_write'), 0) AS primaries FROM endpoints WHERE branch_id = ?`;
    const row = this.#db.one(sql, branchId) ?? {};
    return { all: number(row, "n"), active: number(row, "active"), primaries: number(row, "primaries") };
  }

  count(projectId: string): number {
    return this.#table.count("WHERE project_id = ?", projectId);
  }

  /** The shapes that computes of some projects have, each once in each project. */
  shapes(projectIds: readonly string[]): (ComputeShape & { projectId: string })[] {
    const columns = "project_id, min_cu, max_cu, suspend_timeout_seconds";
    const computes = "json_each(?) wanted CROSS JOIN endpoints ON project_id = wanted.value";
    return this.#shapes.select(`SELECT DISTINCT ${columns} FROM ${computes}`, JSON.stringify(projectIds));
  }

  /** The length of the settings of all computes of a project, of deleted branches too, as they are stored. */
  lengthOfSettings(projectId: string): number {
    const tables = [this.#table, this.#deleted];
    return tables.reduce((sum, table) => sum + table.length("settings", "WHERE project_id = ?", projectId), 0);
  }

  countMetered(projectId: string): number {
    return this.#table.count(metered, projectId);
  }

  /** The metered computes of one branch. */
  meteredOn(projectId: string, branchId: string): MeteredEndpoint[] {
    return this.#metered.all(`${metered} AND branch_id = ?`, projectId, branchId);
  }

  /** The active computes of a project or a branch, oldest first, at most so many. */
  activeOf({ projectId, branchId }: ComputesOf, most: number): StoredEndpoint[] {
    const of = branchId === undefined ? "project_id" : "branch_id";
    const active = `WHERE ${of} = ? AND current_state = 'active' ORDER BY seq LIMIT ?`;
    return this.#table.all(active, branchId ?? projectId, most);
  }

  /** The active computes of every project. */
  active(): StoredEndpoint[] {
    return this.#table.all(`WHERE current_state = 'active' AND ${ofProject} ORDER BY seq`);
  }

  /** Time at which a compute of a project last served a client, or started. */
  lastActive(projectId: string): number | undefined {
    const row = this.#db.one("SELECT max(last_active) AS at FROM endpoints WHERE project_id = ?", projectId);
    return row && optionalNumber(row, "at");
  }

  delete(endpoint: StoredEndpoint): void {
    this.#table.delete("WHERE id = ?", endpoint.id);
    this.#onChange(endpoint.projectId);
  }

  /** Notes that an operator has changed an endpoint. */
  noteOperator(id: string, at: number): void {
    this.#operatorChanges.upsert({ endpointId: id, changedAt: at });
  }

  /** Time of an operator's last change of an endpoint; `undefined` if there was none. */
  changedByOperator(id: string): number | undefined {
    return this.#operatorChanges.one("WHERE endpoint_id = ?", id)?.changedAt;
  }

  /** Deletes all endpoints of a branch; `recoverable`: with a copy of each, for the branch may come back. */
  deleteOfBranch({ id, projectId }: { id: string; projectId: string }, recoverable: boolean): void {
    if (recoverable) this.#db.run("INSERT INTO deleted_endpoints SELECT * FROM endpoints WHERE branch_id = ?", id);
    this.#table.delete("WHERE branch_id = ?", id);
    this.#onChange(projectId);
  }

  /** The number of endpoints of a project that are kept with its deleted branches. */
  countDeleted(projectId: string): number {
    return this.#deleted.count("WHERE project_id = ?", projectId);
  }

  /** The number of computes that went with a branch, and the shapes that they have, each once. */
  deletedOf(branchId: string): { count: number; shapes: ComputeShape[] } {
    const count = this.#deleted.count("WHERE branch_id = ?", branchId);
    const columns = "project_id, min_cu, max_cu, suspend_timeout_seconds";
    const sql = `SELECT DISTINCT ${columns} FROM deleted_endpoints WHERE branch_id = ?`;
    return { count, shapes: this.#shapes.select(sql, branchId) };
  }

  /**
   * Brings the computes of a branch back, idle, in their order; they are kept no longer as deleted ones. Their numbers
   * follow one another, as a gap that is kept could be doubled without end.
   */
  recoverOfBranch({ id, projectId }: { id: string; projectId: string }, at: number): void {
    const newest = "(SELECT coalesce(max(seq), 0) FROM endpoints)";
    const own =
      "(SELECT rowid AS which, row_number() OVER (ORDER BY seq) AS place FROM deleted_endpoints WHERE branch_id = ?1)";
    const asleep =
      "current_state = 'idle', pending_state = NULL, suspend_due = NULL, metered_at = NULL, updated_at = ?2";
    const numbered = `UPDATE deleted_endpoints SET seq = ${newest} + place, ${asleep} FROM ${own} own`;
    this.#db.run(`${numbered} WHERE deleted_endpoints.rowid = which`, id, at);
    this.#db.run("INSERT INTO endpoints SELECT * FROM deleted_endpoints WHERE branch_id = ? ORDER BY seq", id);
    this.#deleted.delete("WHERE branch_id = ?", id);
    this.#onChange(projectId);
  }

  /** The endpoint that suspends for inactivity next. */
  nextToSuspend(): { id: string; due: number } | undefined {
    const next = `WHERE suspend_due IS NOT NULL AND ${ofProject} ORDER BY suspend_due, seq LIMIT 1`;
    const row = this.#db.one(`SELECT id, suspend_due FROM endpoints ${next}`);
    return row && { id: text(row, "id"), due: number(row, "suspend_due") };
  }

  postpone(id: string, suspendDue: number): void {
    this.#changeable.update({ suspendDue }, "WHERE id = ?", id);
  }
}
