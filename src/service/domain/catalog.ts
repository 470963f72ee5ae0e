import type { BranchDatabase, Role } from "../store/catalog.ts";
import type { HistoryPoint } from "./history.ts";

/**
 * The roles and databases in the Postgres of each branch. For now a model of it in the store; a real server would stand
 * behind the same calls. The rules of the API (names, owners, conflicts) are checked before.
 */
export interface Catalog {
  roles(branchId: string): Role[];
  role(branchId: string, name: string): Role | undefined;
  /** Makes a role, with a password of its own where it can log in. */
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
  /** The schema of a database as SQL; it may have to be read from a server. Rejects with `Refusal`. */
  schema(branchId: string, database: string): string | Promise<string>;
  /**
   * Gives a branch the roles and databases of another one, as they are now or were at a point, in place of its own;
   * passwords are each branch's own.
   */
  copy(from: string, to: string, at: number, point?: HistoryPoint): void;
  /** Gives a branch an earlier state of its own, from the history of the branch that keeps what it was. */
  rewind(from: string, to: string, point: HistoryPoint): void;
}
