import type { Database } from "./database.ts";
import { flag, number, text } from "./row.ts";
import { orderOf, type PageFound, type PageWanted, type RowsWanted, Table } from "./table.ts";

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

interface BranchCatalogRows {
  roles: readonly Role[];
  databases: readonly (Omit<BranchDatabase, "id"> & Partial<BranchDatabase>)[];
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
  readonly #roles: Table<Role>;
  readonly #databases: Table<BranchDatabase>;

  constructor(db: Database) {
    const made = { branchId: text, name: text, createdAt: number, updatedAt: number };
    this.#roles = new Table(db, "roles", { ...made, login: flag, passwordSource: text }, "in-branch");
    this.#databases = new Table(db, "databases", { ...made, id: number, ownerName: text });
  }

  /** In the order of creation. */
  roles(branchId: string): Role[] {
    return this.#roles.all("WHERE branch_id = ? ORDER BY seq, name", branchId);
  }

  /** The roles of a page: those with `search` in their name, by whether they log in, in an order. */
  findRoles(branchId: string, wanted: RowsWanted, page: PageWanted): PageFound<Role> {
    const states = { "": "true", login: "login = 1", none: "login = 0" };
    const where = `WHERE branch_id = ?1 AND ${orderOf(states, wanted.state)} AND (?2 = '' OR ${isIn("name")})`;
    const orders = { "": "seq, name", newest: "seq DESC, name DESC", name: "name" };
    return this.#roles.paged(where, orderOf(orders, wanted.sort), [branchId, wanted.search], page);
  }

  countRoles(branchId: string): number {
    return this.#roles.count("WHERE branch_id = ?", branchId);
  }

  role(branchId: string, name: string): Role | undefined {
    return this.#roles.one("WHERE branch_id = ? AND name = ?", branchId, name);
  }

  putRole(role: Role): void {
    this.#roles.upsert(role, { passwordSource: "replace", updatedAt: "replace" });
  }

  deleteRole(branchId: string, name: string): void {
    this.#roles.delete("WHERE branch_id = ? AND name = ?", branchId, name);
  }

  /** In the order of creation. */
  databases(branchId: string): BranchDatabase[] {
    return this.#databases.all("WHERE branch_id = ? ORDER BY id", branchId);
  }

  /** The databases of a page: those with `search` in their name or that of their owner, in an order. */
  findDatabases(branchId: string, wanted: RowsWanted, page: PageWanted): PageFound<BranchDatabase> {
    const where = `WHERE branch_id = ?1 AND (?2 = '' OR ${isIn("name")} OR ${isIn("owner_name")})`;
    const orders = { "": "id", newest: "id DESC", name: "name" };
    return this.#databases.paged(where, orderOf(orders, wanted.sort), [branchId, wanted.search], page);
  }

  countDatabases(branchId: string): number {
    return this.#databases.count("WHERE branch_id = ?", branchId);
  }

  /** The oldest database that a role owns. */
  databaseOf(branchId: string, ownerName: string): BranchDatabase | undefined {
    return this.#databases.one("WHERE branch_id = ? AND owner_name = ? ORDER BY id LIMIT 1", branchId, ownerName);
  }

  database(branchId: string, name: string): BranchDatabase | undefined {
    return this.#databases.one("WHERE branch_id = ? AND name = ?", branchId, name);
  }

  insertDatabase({ branchId, name, ownerName, createdAt, updatedAt }: Omit<BranchDatabase, "id">): void {
    this.#databases.insert({ branchId, name, ownerName, createdAt, updatedAt });
  }

  updateDatabase({ id, name, ownerName, updatedAt }: BranchDatabase): void {
    this.#databases.update({ name, ownerName, updatedAt }, "WHERE id = ?", id);
  }

  deleteDatabase(branchId: string, name: string): void {
    this.#databases.delete("WHERE branch_id = ? AND name = ?", branchId, name);
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
    const own = { branchId: to, createdAt: at, updatedAt: at };
    const copied = roles.map((role) => ({
      ...role,
      ...own,
      passwordSource: sources.get(role.name) ?? sourceOf(role.name),
    }));
    this.replace(to, {
      roles: copied,
      databases: databases.map(({ name, ownerName }) => ({ ...own, name, ownerName })),
    });
  }

  /** Gives a branch these roles and databases alone; a database that has an id keeps it. */
  replace(branchId: string, { roles, databases }: BranchCatalogRows): void {
    this.#roles.delete("WHERE branch_id = ?", branchId);
    this.#databases.delete("WHERE branch_id = ?", branchId);
    for (const role of roles) this.putRole(role);
    for (const database of databases) this.#databases.insert(database);
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

/** A condition on a text: it has the second value in it, in any case. */
function isIn(column: string): string {
  return `instr(lower(${column}), lower(?2)) > 0`;
}
