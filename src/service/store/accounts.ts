import type { Database } from "./database.ts";
import { number, type Row, text } from "./row.ts";

export interface Account {
  id: string;
  /** The account's id in answers of the API that require a UUID. */
  uuid: string;
  email: string;
  name: string;
  plan: string;
  createdAt: number;
}

export interface Organization {
  id: string;
  name: string;
  plan: string;
  createdAt: number;
}

/** Roles in an organization; `member` is the older name of `editor`. */
export const memberRoles = ["admin", "member", "editor", "viewer", "collaborator"] as const;
export type Role = (typeof memberRoles)[number];

export interface Member {
  organizationId: string;
  accountId: string;
  role: Role;
  joinedAt: number;
}

/** Accounts, organizations and memberships. */
export class Accounts {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(account: Account): void {
    const { id, uuid, email, name, plan, createdAt } = account;
    this.#db.run("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?)", id, uuid, email, name, plan, createdAt);
  }

  get(id: string): Account | undefined {
    const row = this.#db.one("SELECT * FROM accounts WHERE id = ?", id);
    return row && accountOf(row);
  }

  all(): Account[] {
    return this.#db.all("SELECT * FROM accounts ORDER BY created_at, id").map(accountOf);
  }

  insertOrganization({ id, name, plan, createdAt }: Organization): void {
    this.#db.run("INSERT INTO organizations VALUES (?, ?, ?, ?)", id, name, plan, createdAt);
  }

  organization(id: string): Organization | undefined {
    const row = this.#db.one("SELECT * FROM organizations WHERE id = ?", id);
    return row && organizationOf(row);
  }

  organizationsOf(accountId: string): Organization[] {
    return this.#db
      .all(
        "SELECT o.* FROM organizations o JOIN members m ON m.organization_id = o.id WHERE m.account_id = ? ORDER BY o.id",
        accountId,
      )
      .map(organizationOf);
  }

  putMember({ organizationId, accountId, role, joinedAt }: Member): void {
    this.#db.run(
      `INSERT INTO members VALUES (?, ?, ?, ?)
       ON CONFLICT (organization_id, account_id) DO UPDATE SET role = excluded.role`,
      organizationId,
      accountId,
      role,
      joinedAt,
    );
  }

  removeMember(organizationId: string, accountId: string): boolean {
    const sql = "DELETE FROM members WHERE organization_id = ? AND account_id = ?";
    return this.#db.run(sql, organizationId, accountId) > 0;
  }

  member(organizationId: string, accountId: string): Member | undefined {
    const sql = "SELECT * FROM members WHERE organization_id = ? AND account_id = ?";
    const row = this.#db.one(sql, organizationId, accountId);
    return row && memberOf(row);
  }

  members(organizationId: string): Member[] {
    const sql = "SELECT * FROM members WHERE organization_id = ? ORDER BY joined_at, account_id";
    return this.#db.all(sql, organizationId).map(memberOf);
  }
}

function accountOf(row: Row): Account {
  return {
    id: text(row, "id"),
    uuid: text(row, "uuid"),
    email: text(row, "email"),
    name: text(row, "name"),
    plan: text(row, "plan"),
    createdAt: number(row, "created_at"),
  };
}

function organizationOf(row: Row): Organization {
  return {
    id: text(row, "id"),
    name: text(row, "name"),
    plan: text(row, "plan"),
    createdAt: number(row, "created_at"),
  };
}

function memberOf(row: Row): Member {
  return {
    organizationId: text(row, "organization_id"),
    accountId: text(row, "account_id"),
    role: memberRoles.find((role) => role === text(row, "role")) ?? "viewer",
    joinedAt: number(row, "joined_at"),
  };
}
