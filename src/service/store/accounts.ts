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

/** A member with the names of its account. */
export interface NamedMember extends Member, Pick<Account, "uuid" | "email" | "name"> {}

/** Columns by which lists of members are sorted, besides the email. */
export type MemberOrder = "email" | "role" | "joined_at";

/** The members of a page: those after one in an order, of which each has an email of its own. */
export interface MembersWanted {
  by: MemberOrder;
  descending: boolean;
  after: readonly [key: string | number, email: string | number] | undefined;
  limit: number;
}

/** Accounts, organizations and memberships. */
export class Accounts {
  readonly #accounts: Table<Account>;
  readonly #organizations: Table<Organization>;
  readonly #members: Table<Member>;
  readonly #named: Table<NamedMember>;

  constructor(db: Database) {
    const named = { id: text, name: text, plan: text, createdAt: number };
    this.#accounts = new Table(db, "accounts", { ...named, uuid: text, email: text });
    this.#organizations = new Table(db, "organizations", named);
    const role = oneOf(memberRoles, "viewer");
    const member = { organizationId: text, accountId: text, role, joinedAt: number };
    this.#members = new Table(db, "members", member);
    this.#named = new Table(db, "members", { ...member, uuid: text, email: text, name: text });
  }

  insert(account: Account): void {
    this.#accounts.insert(account);
  }

  get(id: string): Account | undefined {
    return this.#accounts.one("WHERE id = ?", id);
  }

  hasEmail(email: string): boolean {
    return this.#accounts.has("WHERE email = ?", email);
  }

  /** The oldest accounts, at most so many. */
  oldest(most: number): Account[] {
    return this.#accounts.all("ORDER BY created_at, id LIMIT ?", most);
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

  /** The members of a page, each with its account; only these are read. */
  memberPage(organizationId: string, { by, descending, after, limit }: MembersWanted): NamedMember[] {
    const [direction, follows] = descending ? ["DESC", "<"] : ["", ">"];
    const rest = `(?2 IS NULL OR ${by} ${follows} ?2 OR ${by} = ?2 AND email > ?3)`;
    const sql = `SELECT * FROM members JOIN accounts ON accounts.id = account_id
      WHERE organization_id = ?1 AND ${rest} ORDER BY ${by} ${direction}, email LIMIT ?4`;
    return this.#named.select(sql, organizationId, after?.[0], after?.[1], limit);
  }

  countAdministrators(organizationId: string): number {
    return this.#members.count("WHERE organization_id = ? AND role = 'admin'", organizationId);
  }
}
