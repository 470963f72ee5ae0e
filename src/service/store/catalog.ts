import type { Database } from "./database.ts";
import { flag, number, type Row, text } from "./row.ts";

/** A Postgres role of a branch. */
export interface Role {
  branchId: string;
  name: string;
  /** True if the role can connect, and so has a password. */
  login: boolean;
  /** The text from which its password is derived: different for every branch and after each reset. */
  passwordSource: string;
  createdAt: number;
  updatedAt: number;
}

/** A Postgres database of a branch. */
export interface BranchDatabase {
  id: number;
  branchId: string;
  name: string;
  ownerName: string;
  createdAt: number;
  updatedAt: number;
}

/** The databases that clients of a branch's Postgres have changed with SQL. */
export interface ChangedWithSql {
  dropped: readonly { name: string }[];
  given: readonly { name: string; ownerName: string }[];
  created: readonly { name: string; ownerName: string }[];
}

/** The roles of the API and the databases that a branch had at a point, and the names of those that it lacked then. */
export interface CatalogThen {
  roles: readonly { name: string; login: boolean }[];
  databases: readonly { name: string; ownerName: string }[];
  lostRoles: readonly string[];
  lostDatabases: readonly string[];
}

/** The roles and databases of branches. */
export class Catalogs {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** In the order of creation. */
  roles(branchId: string): Role[] {
    return this.#db.all("SELECT * FROM roles WHERE branch_id = ? ORDER BY seq, name", branchId).map(roleOf);
  }

  role(branchId: string, name: string): Role | undefined {
    const row = this.#db.one("SELECT * FROM roles WHERE branch_id = ? AND name = ?", branchId, name);
    return row && roleOf(row);
  }

  putRole({ branchId, name, login, passwordSource, createdAt, updatedAt }: Role): void {
    this.#db.run(
      `INSERT INTO roles (branch_id, seq, name, login, password_source, created_at, updated_at)
       VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM roles WHERE branch_id = ?), ?, ?, ?, ?, ?)
       ON CONFLICT (branch_id, name) DO UPDATE SET password_source = excluded.password_source, updated_at = excluded.updated_at`,
      branchId,
      branchId,
      name,
      login,
      passwordSource,
      createdAt,
      updatedAt,
    );
  }

  deleteRole(branchId: string, name: string): void {
    this.#db.run("DELETE FROM roles WHERE branch_id = ? AND name = ?", branchId, name);
  }

  /** In the order of creation. */
  databases(branchId: string): BranchDatabase[] {
    return this.#db.all("SELECT * FROM databases WHERE branch_id = ? ORDER BY id", branchId).map(databaseOf);
  }

  database(branchId: string, name: string): BranchDatabase | undefined {
    const row = this.#db.one("SELECT * FROM databases WHERE branch_id = ? AND name = ?", branchId, name);
    return row && databaseOf(row);
  }

  insertDatabase({ branchId, name, ownerName, createdAt, updatedAt }: Omit<BranchDatabase, "id">): void {
    const sql = "INSERT INTO databases (branch_id, name, owner_name, created_at, updated_at) VALUES (?, ?, ?, ?, ?)";
    this.#db.run(sql, branchId, name, ownerName, createdAt, updatedAt);
  }

  updateDatabase({ id, name, ownerName, updatedAt }: BranchDatabase): void {
    const sql = "UPDATE databases SET name = ?, owner_name = ?, updated_at = ? WHERE id = ?";
    this.#db.run(sql, name, ownerName, updatedAt, id);
  }

  deleteDatabase(branchId: string, name: string): void {
    this.#db.run("DELETE FROM databases WHERE branch_id = ? AND name = ?", branchId, name);
  }

  /** Changes the databases of a branch as clients of its Postgres have. */
  takeOver(branchId: string, { dropped, given, created }: ChangedWithSql, at: number): void {
    for (const { name } of dropped) this.deleteDatabase(branchId, name);
    for (const { name, ownerName } of given) {
      const database = this.database(branchId, name);
      if (database) this.updateDatabase({ ...database, ownerName, updatedAt: at });
    }
    for (const one of created) this.insertDatabase({ branchId, ...one, createdAt: at, updatedAt: at });
  }

  /**
   * Replaces the roles and databases of a branch by those of another one. Passwords are not copied: roles that the
   * branch has keep theirs, and `sourceOf` makes those of the others.
   */
  copy(from: string, to: string, at: number, sourceOf: (name: string) => string): void {
    const [roles, databases] = [this.roles(from), this.databases(from)];
    const sources = new Map(this.roles(to).map(({ name, passwordSource }) => [name, passwordSource]));
    this.#db.run("DELETE FROM roles WHERE branch_id = ?", to);
    this.#db.run("DELETE FROM databases WHERE branch_id = ?", to);
    for (const role of roles) {
      const passwordSource = sources.get(role.name) ?? sourceOf(role.name);
      this.putRole({ ...role, branchId: to, passwordSource, createdAt: at, updatedAt: at });
    }
    for (const database of databases) this.insertDatabase({ ...database, branchId: to, createdAt: at, updatedAt: at });
  }

  /** Gives a branch the roles and databases of a point. `sourceOf` makes the passwords of roles that it has no more. */
  becomeAs(branchId: string, then: CatalogThen, at: number, sourceOf: (name: string) => string): void {
    for (const name of then.lostDatabases) this.deleteDatabase(branchId, name);
    for (const name of then.lostRoles) this.deleteRole(branchId, name);
    for (const { name, login } of then.roles) {
      if (this.role(branchId, name)) continue;
      this.putRole({ branchId, name, login, passwordSource: sourceOf(name), createdAt: at, updatedAt: at });
    }
    for (const { name, ownerName } of then.databases) {
      const database = this.database(branchId, name);
      if (database) this.updateDatabase({ ...database, ownerName });
      else this.insertDatabase({ branchId, name, ownerName, createdAt: at, updatedAt: at });
    }
  }
}

function roleOf(row: Row): Role {
  return {
    branchId: text(row, "branch_id"),
    name: text(row, "name"),
    login: flag(row, "login"),
    passwordSource: text(row, "password_source"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}

function databaseOf(row: Row): BranchDatabase {
  return {
    id: number(row, "id"),
    branchId: text(row, "branch_id"),
    name: text(row, "name"),
    ownerName: text(row, "owner_name"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}
