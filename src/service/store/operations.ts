import { type OperationStatus, operationStatuses } from "../../api/operation.ts";
import type { Database } from "./database.ts";
import { number, optionalNumber, optionalText, type Row, text } from "./row.ts";

/** The effect of a finished operation on its compute or branch. */
export type Effect = "none" | "start" | "suspend" | "branch-ready";

/** An operation as stored. The operations of one call form a chain: each starts when the previous one has finished. */
export interface StoredOperation {
  seq: number;
  id: string;
  projectId: string;
  branchId: string | undefined;
  endpointId: string | undefined;
  /** The seq of the first operation of its chain. */
  chain: number;
  action: string;
  effect: Effect;
  status: OperationStatus;
  failuresCount: number;
  error: string | undefined;
  durationMs: number;
  /** End of the running operation. */
  due: number | undefined;
  createdAt: number;
  updatedAt: number;
}

export type NewOperation = Omit<StoredOperation, "seq" | "failuresCount" | "error" | "updatedAt" | "chain"> & {
  /** Absent: the operation starts a chain. */
  chain: number | undefined;
};

/** Number of operations kept for a project; older finished ones are deleted. */
export const mostKept = 10_000;

/**
 * Ids are random: an operation whose id starts with this, one in 256, triggers the deletion of old ones in its project.
 */
const sweepsAt = "00";

export class Operations {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(operation: NewOperation): StoredOperation {
    const row = this.#db.one(
      `INSERT INTO operations (id, project_id, branch_id, endpoint_id, chain, action, effect, status, failures_count, duration_ms, due, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?) RETURNING *`,
      operation.id,
      operation.projectId,
      operation.branchId,
      operation.endpointId,
      operation.chain ?? 0,
      operation.action,
      operation.effect,
      operation.status,
      operation.durationMs,
      operation.due,
      operation.createdAt,
      operation.createdAt,
    );
    if (!row) throw new Error("the new operation was not stored");
    const stored = operationOf(row);
    if (stored.id.startsWith(sweepsAt)) this.#forgetOld(stored.projectId);
    if (operation.chain !== undefined) return stored;
    this.#db.run("UPDATE operations SET chain = seq WHERE seq = ?", stored.seq);
    return { ...stored, chain: stored.seq };
  }

  /** A client that is paging reaches the end earlier but misses nothing before it. */
  #forgetOld(projectId: string): void {
    const oldest = "SELECT seq FROM operations WHERE project_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    this.#db.run(
      `DELETE FROM operations WHERE project_id = ? AND NOT (${unfinished}) AND seq <= (${oldest})`,
      projectId,
      projectId,
      mostKept,
    );
  }

  setStatus(seq: number, status: OperationStatus, at: number, due: number | undefined): void {
    this.#db.run("UPDATE operations SET status = ?, updated_at = ?, due = ? WHERE seq = ?", status, at, due, seq);
  }

  /** Makes an operation in progress fail when its time is up. */
  forceFailure(id: string, error: string): void {
    this.#db.run(`UPDATE operations SET error = ? WHERE id = ? AND ${unfinished}`, error, id);
  }

  /** Ends an operation that could not do its work, and cancels those that wait for it; answers these. */
  fail({ seq, chain }: StoredOperation, at: number): StoredOperation[] {
    const failed = "status = 'failed', failures_count = failures_count + 1, updated_at = ?, due = NULL";
    this.#db.run(`UPDATE operations SET ${failed} WHERE seq = ?`, at, seq);
    const cancelled = "status = 'cancelled', updated_at = ?";
    const sql = `UPDATE operations SET ${cancelled} WHERE chain = ? AND status = 'scheduling' RETURNING *`;
    return this.#db.all(sql, at, chain).map(operationOf);
  }

  /** Reason why an operation failed, or was cancelled because one before it failed. */
  reasonOf({ chain }: StoredOperation): string | undefined {
    const sql = "SELECT error FROM operations WHERE chain = ? AND error IS NOT NULL ORDER BY seq DESC LIMIT 1";
    const row = this.#db.one(sql, chain);
    return row && text(row, "error");
  }

  /** The running operation that finishes next. */
  nextToFinish(): StoredOperation | undefined {
    const row = this.#db.one("SELECT * FROM operations WHERE due IS NOT NULL ORDER BY due, seq LIMIT 1");
    return row && operationOf(row);
  }

  /** Operations that run until their end is reported, oldest first. */
  openEnded(): StoredOperation[] {
    const sql = "SELECT * FROM operations WHERE status = 'running' AND due IS NULL ORDER BY seq";
    return this.#db.all(sql).map(operationOf);
  }

  /** Gives those that run an end, or takes it from them, for a service that measures them otherwise than before. */
  setEnds(due: number | undefined): void {
    const other = due === undefined ? "NOT NULL" : "NULL";
    this.#db.run(`UPDATE operations SET due = ? WHERE status = 'running' AND due IS ${other}`, due);
  }

  nextInChain(operation: StoredOperation): StoredOperation | undefined {
    const sql = "SELECT * FROM operations WHERE chain = ? AND seq > ? AND status = 'scheduling' ORDER BY seq LIMIT 1";
    const row = this.#db.one(sql, operation.chain, operation.seq);
    return row && operationOf(row);
  }

  /** True while an operation of a project is in progress: this is the project's lock. */
  anyUnfinished(projectId: string): boolean {
    const sql = `SELECT 1 AS found FROM operations INDEXED BY operations_unfinished WHERE project_id = ? AND ${unfinished} LIMIT 1`;
    return this.#db.one(sql, projectId) !== undefined;
  }

  /** True while an operation of a branch or its computes is in progress. */
  anyUnfinishedOn(projectId: string, branchId: string): boolean {
    const sql = `SELECT 1 AS found FROM operations INDEXED BY operations_unfinished WHERE project_id = ? AND branch_id = ? AND ${unfinished} LIMIT 1`;
    return this.#db.one(sql, projectId, branchId) !== undefined;
  }

  unfinishedOf(projectId: string, endpointId: string): StoredOperation[] {
    const sql = `SELECT * FROM operations INDEXED BY operations_unfinished WHERE project_id = ? AND endpoint_id = ? AND ${unfinished} ORDER BY seq`;
    return this.#db.all(sql, projectId, endpointId).map(operationOf);
  }

  /** The newest operations of a compute, newest first. */
  ofEndpoint(projectId: string, endpointId: string, limit: number): StoredOperation[] {
    const sql = "SELECT * FROM operations WHERE project_id = ? AND endpoint_id = ? ORDER BY seq DESC LIMIT ?";
    return this.#db.all(sql, projectId, endpointId, limit).map(operationOf);
  }

  /** The newest operations of a branch and its computes, newest first. */
  ofBranch(projectId: string, branchId: string, limit: number): StoredOperation[] {
    const sql = "SELECT * FROM operations WHERE project_id = ? AND branch_id = ? ORDER BY seq DESC LIMIT ?";
    return this.#db.all(sql, projectId, branchId, limit).map(operationOf);
  }

  /** Newest first. */
  page(projectId: string, { beforeSeq, limit }: { beforeSeq: number | undefined; limit: number }): StoredOperation[] {
    const sql = "SELECT * FROM operations WHERE project_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
    return this.#db.all(sql, projectId, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit).map(operationOf);
  }

  get(projectId: string, id: string): StoredOperation | undefined {
    const row = this.#db.one("SELECT * FROM operations WHERE id = ? AND project_id = ?", id, projectId);
    return row && operationOf(row);
  }
}

const unfinished = "status IN ('running', 'scheduling')";

function operationOf(row: Row): StoredOperation {
  return {
    seq: number(row, "seq"),
    id: text(row, "id"),
    projectId: text(row, "project_id"),
    branchId: optionalText(row, "branch_id"),
    endpointId: optionalText(row, "endpoint_id"),
    chain: number(row, "chain"),
    action: text(row, "action"),
    effect: effectOf(text(row, "effect")),
    status: statusOf(text(row, "status")),
    failuresCount: number(row, "failures_count"),
    error: optionalText(row, "error"),
    durationMs: number(row, "duration_ms"),
    due: optionalNumber(row, "due"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}

function effectOf(value: string): Effect {
  return value === "start" || value === "suspend" || value === "branch-ready" ? value : "none";
}

function statusOf(value: string): OperationStatus {
  return operationStatuses.find((status) => status === value) ?? "error";
}
