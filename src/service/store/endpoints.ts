import { z } from "zod";
import { type EndpointState, type EndpointType, endpointStates } from "../../api/endpoint.ts";
import { attributeColumns, attributesIn, attributeValues, type StoredAttributes } from "./compute-attributes.ts";
import type { Database } from "./database.ts";
import { number, optionalNumber, optionalText, type Row, text } from "./row.ts";

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

export class Endpoints {
  readonly #db: Database;
  readonly #onChange: (projectId: string) => void;

  /** `onChange` is called with every project in which an endpoint changes. */
  constructor(db: Database, onChange: (projectId: string) => void) {
    this.#db = db;
    this.#onChange = onChange;
  }

  insert(endpoint: StoredEndpoint): void {
    const values = valuesOf(endpoint);
    this.#db.run(
      `INSERT INTO endpoints (seq, id, project_id, type, created_at, ${changeable.join(", ")})
       VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM endpoints), ?, ?, ?, ?, ${changeable.map(() => "?").join(", ")})`,
      endpoint.id,
      endpoint.projectId,
      endpoint.type,
      endpoint.createdAt,
      ...values,
    );
    this.#onChange(endpoint.projectId);
  }

  /** Stores all fields of an endpoint that can change. */
  update(endpoint: StoredEndpoint): void {
    const assignments = changeable.map((column) => `${column} = ?`).join(", ");
    this.#db.run(`UPDATE endpoints SET ${assignments} WHERE id = ?`, ...valuesOf(endpoint), endpoint.id);
    this.#onChange(endpoint.projectId);
  }

  get(projectId: string, id: string): StoredEndpoint | undefined {
    const row = this.#db.one("SELECT * FROM endpoints WHERE id = ? AND project_id = ?", id, projectId);
    return row && endpointOf(row);
  }

  byId(id: string): StoredEndpoint | undefined {
    const row = this.#db.one("SELECT * FROM endpoints WHERE id = ?", id);
    return row && endpointOf(row);
  }

  /** All endpoints of a project, oldest first. */
  list(projectId: string): StoredEndpoint[] {
    return this.#db.all("SELECT * FROM endpoints WHERE project_id = ? ORDER BY seq", projectId).map(endpointOf);
  }

  ofBranch(branchId: string): StoredEndpoint[] {
    return this.#db.all("SELECT * FROM endpoints WHERE branch_id = ? ORDER BY seq", branchId).map(endpointOf);
  }

  /** The primary of a branch, of which there is at most one. */
  primaryOf(branchId: string): StoredEndpoint | undefined {
    const row = this.#db.one("SELECT * FROM endpoints WHERE branch_id = ? AND type = 'read_write'", branchId);
    return row && endpointOf(row);
  }

  /** The computes of a project whose usage is being metered. */
  metered(projectId: string): StoredEndpoint[] {
    const sql = "SELECT * FROM endpoints INDEXED BY endpoints_metered WHERE project_id = ? AND metered_at IS NOT NULL";
    return this.#db.all(sql, projectId).map(endpointOf);
  }

  count(projectId: string): number {
    const row = this.#db.one("SELECT count(*) AS count FROM endpoints WHERE project_id = ?", projectId);
    return row ? number(row, "count") : 0;
  }

  /** The length of the settings of all computes of a project, as they are stored. */
  lengthOfSettings(projectId: string): number {
    const row = this.#db.one(
      "SELECT coalesce(sum(length(settings)), 0) AS sum FROM endpoints WHERE project_id = ?",
      projectId,
    );
    return row ? number(row, "sum") : 0;
  }

  countMetered(projectId: string): number {
    const metered = "INDEXED BY endpoints_metered WHERE project_id = ? AND metered_at IS NOT NULL";
    const row = this.#db.one(`SELECT count(*) AS count FROM endpoints ${metered}`, projectId);
    return row ? number(row, "count") : 0;
  }

  /** The metered computes of one branch. */
  meteredOn(projectId: string, branchId: string): StoredEndpoint[] {
    const metered = "INDEXED BY endpoints_metered WHERE project_id = ? AND metered_at IS NOT NULL";
    return this.#db.all(`SELECT * FROM endpoints ${metered} AND branch_id = ?`, projectId, branchId).map(endpointOf);
  }

  /** The active computes of every project. */
  active(): StoredEndpoint[] {
    return this.#db.all("SELECT * FROM endpoints WHERE current_state = 'active' ORDER BY seq").map(endpointOf);
  }

  /** Time at which a compute of a project last served a client, or started. */
  lastActive(projectId: string): number | undefined {
    const row = this.#db.one("SELECT max(last_active) AS at FROM endpoints WHERE project_id = ?", projectId);
    return row && optionalNumber(row, "at");
  }

  delete(endpoint: StoredEndpoint): void {
    this.#db.run("DELETE FROM endpoints WHERE id = ?", endpoint.id);
    this.#onChange(endpoint.projectId);
  }

  /** Notes that an operator has changed an endpoint. */
  noteOperator(id: string, at: number): void {
    const sql = `INSERT INTO operator_changes VALUES (?, ?)
      ON CONFLICT (endpoint_id) DO UPDATE SET changed_at = excluded.changed_at`;
    this.#db.run(sql, id, at);
  }

  /** Time of an operator's last change of an endpoint; `undefined` if there was none. */
  changedByOperator(id: string): number | undefined {
    const row = this.#db.one("SELECT changed_at FROM operator_changes WHERE endpoint_id = ?", id);
    return row && number(row, "changed_at");
  }

  /** Keeps a copy of an endpoint that goes with its branch. */
  keepDeleted({ id }: StoredEndpoint): void {
    this.#db.run("INSERT INTO deleted_endpoints SELECT * FROM endpoints WHERE id = ?", id);
  }

  /** The endpoints that went with a branch, oldest first; they are kept no longer. */
  takeDeleted(branchId: string): StoredEndpoint[] {
    const rows = this.#db.all("SELECT * FROM deleted_endpoints WHERE branch_id = ? ORDER BY seq", branchId);
    this.#db.run("DELETE FROM deleted_endpoints WHERE branch_id = ?", branchId);
    return rows.map(endpointOf);
  }

  /** The endpoint that suspends for inactivity next. */
  nextToSuspend(): { id: string; due: number } | undefined {
    const row = this.#db.one(
      "SELECT id, suspend_due FROM endpoints WHERE suspend_due IS NOT NULL ORDER BY suspend_due, seq LIMIT 1",
    );
    return row && { id: text(row, "id"), due: number(row, "suspend_due") };
  }
}

const changeable = [
  "branch_id",
  "name",
  ...attributeColumns,
  "current_state",
  "pending_state",
  "last_active",
  "started_at",
  "suspended_at",
  "suspend_due",
  "metered_at",
  "updated_at",
];

/** In the order of `changeable`. */
function valuesOf(endpoint: StoredEndpoint) {
  return [
    endpoint.branchId,
    endpoint.name,
    ...attributeValues(endpoint),
    endpoint.currentState,
    endpoint.pendingState,
    endpoint.lastActive,
    endpoint.startedAt,
    endpoint.suspendedAt,
    endpoint.suspendDue,
    endpoint.meteredAt,
    endpoint.updatedAt,
  ];
}

function endpointOf(row: Row): StoredEndpoint {
  return {
    id: text(row, "id"),
    projectId: text(row, "project_id"),
    branchId: text(row, "branch_id"),
    type: text(row, "type") === "read_only" ? "read_only" : "read_write",
    name: optionalText(row, "name"),
    ...attributesIn(row),
    currentState: State.parse(text(row, "current_state")),
    pendingState: State.optional().parse(optionalText(row, "pending_state")),
    lastActive: optionalNumber(row, "last_active"),
    startedAt: optionalNumber(row, "started_at"),
    suspendedAt: optionalNumber(row, "suspended_at"),
    suspendDue: optionalNumber(row, "suspend_due"),
    meteredAt: optionalNumber(row, "metered_at"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}

const State = z.enum(endpointStates);
