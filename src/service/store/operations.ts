import { type OperationStatus, operationStatuses } from "../../api/operation.ts";
import type { Database } from "./database.ts";
import { idsOfOwners, type Owner, ownerLists } from "./projects.ts";
import { number, optionalNumber, optionalText, text } from "./row.ts";
import { oneOf, orderOf, type PageFound, type PageWanted, type RowsWanted, Table } from "./table.ts";

/** Effects of a finished operation on its compute or branch. */
const effects = ["none", "start", "suspend", "branch-ready"] as const;
export type Effect = (typeof effects)[number];

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
  readonly #table: Table<StoredOperation>;

  constructor(db: Database) {
    this.#db = db;
    this.#table = new Table(db, "operations", {
      seq: number,
      id: text,
      projectId: text,
      branchId: optionalText,
      endpointId: optionalText,
      chain: number,
      action: text,
      effect: oneOf(effects, "none"),
      status: oneOf(operationStatuses, "error"),
      failuresCount: number,
      error: optionalText,
      durationMs: number,
      due: optionalNumber,
      createdAt: number,
      updatedAt: number,
    });
  }

  insert(operation: NewOperation): StoredOperation {
    const { chain, createdAt } = operation;
    const stored = this.#table.inserted({ ...operation, chain: chain ?? 0, failuresCount: 0, updatedAt: createdAt });
    if (stored.id.startsWith(sweepsAt)) this.#forgetOld(stored.projectId);
    if (chain !== undefined) return stored;
    this.#table.update({ chain: stored.seq }, "WHERE seq = ?", stored.seq);
    return { ...stored, chain: stored.seq };
  }

  /** A client that is paging reaches the end earlier but misses nothing before it. */
  #forgetOld(projectId: string): void {
    const oldest = "SELECT seq FROM operations WHERE project_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    const old = `WHERE project_id = ? AND NOT (${unfinished}) AND seq <= (${oldest})`;
    this.#table.delete(old, projectId, projectId, mostKept);
  }

  setStatus(seq: number, status: OperationStatus, at: number, due: number | undefined): void {
    this.#table.update({ status, updatedAt: at, due }, "WHERE seq = ?", seq);
  }

  /** Makes an operation in progress fail when its time is up. */
  forceFailure(id: string, error: string): void {
    this.#table.update({ error }, `WHERE id = ? AND ${unfinished}`, id);
  }

  /** Ends an operation that could not do its work, and cancels those that wait for it; answers these. */
  fail({ seq, chain }: StoredOperation, at: number): StoredOperation[] {
    const failed = "status = 'failed', failures_count = failures_count + 1, updated_at = ?, due = NULL";
    this.#db.run(`UPDATE operations SET ${failed} WHERE seq = ?`, at, seq);
    const cancelled = "status = 'cancelled', updated_at = ?";
    const sql = `UPDATE operations SET ${cancelled} WHERE chain = ? AND status = 'scheduling' RETURNING *`;
    return this.#table.select(sql, at, chain);
  }

  /** Reason why an operation failed, or was cancelled because one before it failed. */
  reasonOf({ chain }: StoredOperation): string | undefined {
    const sql = "SELECT error FROM operations WHERE chain = ? AND error IS NOT NULL LIMIT 1";
    const row = this.#db.one(sql, chain);
    return row && text(row, "error");
  }

  /** The running operation that finishes next. */
  nextToFinish(): StoredOperation | undefined {
    return this.#table.one("WHERE due IS NOT NULL ORDER BY due, seq LIMIT 1");
  }

  postpone(seq: number, due: number): void {
    this.#table.update({ due }, "WHERE seq = ?", seq);
  }

  /** Operations that run until their end is reported, oldest first. */
  openEnded(): StoredOperation[] {
    return this.#table.all(`${openEnded} ORDER BY seq`);
  }

  /** The numbers of these alone, oldest first. */
  openEndedSeqs(): number[] {
    return this.#db.all(`SELECT seq FROM operations ${openEnded} ORDER BY seq`).map((row) => number(row, "seq"));
  }

  /** The number of the newest operation that there was, also where it is cleared. */
  lastSeq(): number {
    const row = this.#db.one("SELECT seq FROM sqlite_sequence WHERE name = 'operations'");
    return row ? number(row, "seq") : 0;
  }

  /** One of these. */
  openEndedOne(seq: number): StoredOperation | undefined {
    return this.#table.one(`${openEnded} AND seq = ?`, seq);
  }

  /**
   * Gives those that run an end, or takes it from them, for a service that measures them otherwise than before, or
   * whose clock was set back since.
   */
  setEnds(due: number | undefined): void {
    const other = due === undefined ? "due IS NOT NULL" : "(due IS NULL OR due - duration_ms > ?)";
    const now = due === undefined ? [] : [due];
    // An index has those that are unfinished, and none has those that run.
    this.#table.update({ due }, `WHERE ${unfinished} AND status = 'running' AND ${other}`, ...now);
  }

  nextInChain(operation: StoredOperation): StoredOperation | undefined {
    const next = "WHERE chain = ? AND seq > ? AND status = 'scheduling' ORDER BY seq LIMIT 1";
    return this.#table.one(next, operation.chain, operation.seq);
  }

  /** True while an operation of a project is in progress: this is the project's lock. */
  anyUnfinished(projectId: string): boolean {
    return this.#table.has(unfinishedOf, projectId);
  }

  /** True while an operation of a branch or its computes is in progress. */
  anyUnfinishedOn(projectId: string, branchId: string): boolean {
    return this.#table.has(`${unfinishedOf} AND branch_id = ?`, projectId, branchId);
  }

  unfinishedOf(projectId: string, endpointId: string): StoredOperation[] {
    return this.#table.all(`${unfinishedOf} AND endpoint_id = ? ORDER BY seq`, projectId, endpointId);
  }

  /** The newest operations of a compute, newest first. */
  ofEndpoint(projectId: string, endpointId: string, limit: number): StoredOperation[] {
    const newest = "WHERE project_id = ? AND endpoint_id = ? ORDER BY seq DESC LIMIT ?";
    return this.#table.all(newest, projectId, endpointId, limit);
  }

  /** The newest operations of a branch and its computes, newest first. */
  ofBranch(projectId: string, branchId: string, limit: number): StoredOperation[] {
    const newest = "WHERE project_id = ? AND branch_id = ? ORDER BY seq DESC LIMIT ?";
    return this.#table.all(newest, projectId, branchId, limit);
  }

  /** Newest first. */
  page(projectId: string, { beforeSeq, limit }: { beforeSeq: number | undefined; limit: number }): StoredOperation[] {
    const earlier = "WHERE project_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
    return this.#table.all(earlier, projectId, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit);
  }

  /** The operations of a page, newest first: those with `search` in action or compute, in a state. */
  find(projectId: string, wanted: RowsWanted, page: PageWanted): PageFound<StoredOperation> {
    const where = `WHERE project_id = ?1 AND (?2 = '' OR status = ?2)
      AND (?3 = '' OR instr(replace(action, '_', ' '), lower(?3)) > 0 OR instr(coalesce(endpoint_id, ''), ?3) > 0)`;
    const values = [projectId, wanted.state, wanted.search];
    return this.#table.paged(where, orderOf({ "": "seq DESC", oldest: "seq" }, wanted.sort), values, page);
  }

  /** The operations of some owners' projects that failed after a time, newest first. */
  failed(owners: readonly Owner[], since: number, limit: number): StoredOperation[] {
    const newest = "ORDER BY updated_at DESC, seq DESC LIMIT ?4";
    const ofProject = `SELECT seq FROM operations INDEXED BY operations_failed_in
      WHERE project_id = owned.id AND status = 'failed' AND updated_at > ?3 ${newest}`;
    const sql = `SELECT o.* FROM ${idsOfOwners} owned CROSS JOIN operations o ON o.seq IN (${ofProject})
      ${newest.replaceAll(/(updated_at|seq) /g, "o.$1 ")}`;
    return this.#table.select(sql, ...ownerLists(owners), since, limit);
  }

  get(projectId: string, id: string): StoredOperation | undefined {
    return this.#table.one("WHERE id = ? AND project_id = ?", id, projectId);
  }
}

const openEnded = "WHERE status = 'running' AND due IS NULL";
const unfinished = "status IN ('running', 'scheduling')";
const unfinishedOf = `INDEXED BY operations_unfinished WHERE project_id = ? AND ${unfinished}`;
