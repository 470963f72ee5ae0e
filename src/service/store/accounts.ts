import type { Database } from "./database.ts";
import { number, text } from "./row.ts";
import { oneOf, Table } from "./table.ts";

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
  readonly #accounts: Table<Account>;
  readonly #organizations: Table<Organization>;
  readonly #members: Table<Member>;

  constructor(db: Database) {
    const named = { id: text, name: text, plan: text, createdAt: number };
    this.#accounts = new Table(db, "accounts", { ...named, uuid: text, email: text });
    this.#organizations = new Table(db, "organizations", named);
    const role = oneOf(memberRoles, "viewer");
    this.#members = new Table(db, "members", { organizationId: text, accountId: text, role, joinedAt: number });
  }

  insert(account: Account): void {
    this.#accounts.insert(account);
  }

  get(id: string): Account | undefined {
    return this.#accounts.one("WHERE id = ?", id);
  }

  all(): Account[] {
    return this.#accounts.all("ORDER BY created_at, id");
  }

  insertOrganization(organization: Organization): void {
    this.#organizations.insert(organization);
  }

  organization(id: string): Organization | undefined {
    return this.#organizations.one("WHERE id = ?", id);
  }

  organizationsOf(accountId: string): Organization[] {
    return this.#organizations.all(
      "WHERE id IN (SELECT organization_id FROM members WHERE account_id = ?) ORDER BY id",
      accountId,
    );
  }

  putMember(member: Member): void {
    this.#members.upsert(member, { role: "replace" });
  }

  removeMember(organizationId: string, accountId: string): boolean {
    return this.#members.delete("WHERE organization_id = ? AND account_id = ?", organizationId, accountId) > 0;
  }

  member(organizationId: string, accountId: string): Member | undefined {
    return this.#members.one("WHERE organization_id = ? AND account_id = ?", organizationId, accountId);
  }

  members(organizationId: string): Member[] {
    return this.#members.all("WHERE organization_id = ?", organizationId);
  }
}
