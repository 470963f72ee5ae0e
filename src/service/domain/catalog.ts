import type { BranchDatabase, Role } from "../store/catalog.ts";
import type { HistoryPoint } from "./history-point.ts";

/** Two schemas of a database. */
export interface Comparison {
  name: string;
  before: string;
  after: string;
}

/** A comparison, with the id of the account or organization in whose share of all comparisons it counts. */
export interface ComparedSchemas extends Comparison {
  owner: string;
}

/** The part of a branch that a new one begins with. */
export interface WantedCopy {
  point?: HistoryPoint | undefined;
  schemaOnly?: boolean;
}

/**
 * The roles and databases in the Postgres of each branch: a model of it in the store, or real servers. The rules of the
 * API (names, owners, conflicts) are checked before.
 */
export interface Catalog {
  roles(branchId: string): Role[];
  role(branchId: string, name: string): Role | undefined;
  /** Makes the role with which a new branch begins: after a return to the seed it has the same password again. */
  createFirstRole(branchId: string, name: string, at: number): Role;
  /** Makes a role, with a password that none has had before where it can log in. */
  createRole(branchId: string, role: { name: string; login: boolean }, at: number): Role;
  deleteRole(role: Role): void;
  /** Gives a role another password. */
  resetPassword(role: Role, at: number): Role;
  passwordOf(role: Role): string;
  databases(branchId: string): BranchDatabase[];
  database(branchId: string, name: string): BranchDatabase | undefined;
  createDatabase(branchId: string, database: { name: string; ownerName: string }, at: number): BranchDatabase;
  changeDatabase(database: BranchDatabase, wanted: { name: string; ownerName: string }, at: number): BranchDatabase;
  deleteDatabase(database: BranchDatabase): void;
  /** The schema of a database as SQL, maybe read from a server: `gone` ends that. Rejects with `Refusal`. */
  schema(branchId: string, database: string, gone?: AbortSignal): string | Promise<string>;
  /**
   * The difference of two schemas of a database as a patch, empty where there is none. As `schema` otherwise.
   */
  compared(schemas: ComparedSchemas, gone?: AbortSignal): string | Promise<string>;
  /**
   * Gives a new branch the roles and databases of another one, as they are now or were at a point, and its data: with
   * `schemaOnly` no rows of it.
   */
  copyToNew(from: string, to: string, at: number, what?: WantedCopy): void;
  /**
   * As `copyToNew`, in place of those that a branch has. Passwords are each branch's own: roles that it has keep
   * theirs, and the others get new ones. `keptId`: the branch that keeps what it was.
   */
  replace(from: string, to: string, at: number, point?: HistoryPoint, keptId?: string): void;
  /** Gives a branch an earlier state of its own, from the history of the branch that keeps what it was. */
  rewind(from: string, to: string, point: HistoryPoint): void;
}
