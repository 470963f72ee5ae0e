import { hash, timingSafeEqual } from "node:crypto";
import type { Database } from "./database.ts";
import type { Found } from "./found.ts";
import { flag, number, optionalNumber, optionalText, text } from "./row.ts";
import { type Fields, type Kept, orderOf, type PageFound, type PageWanted, type RowsWanted, Table } from "./table.ts";

/** The owner that a key acts for. */
export type KeyScope =
  | { kind: "personal"; accountId: string }
  | { kind: "organization"; organizationId: string }
  | { kind: "project"; organizationId: string; projectId: string };

/** An API key without its secret; the store holds only a hash of that. */
export interface ApiKey {
  id: number;
  name: string;
  scope: KeyScope;
  /** Id of the account that created it. */
  createdBy: string;
  createdAt: number;
  lastUsedAt: number | undefined;
  lastUsedFrom: string | undefined;
}

/** The time of a key's last use is stored at most this often, in milliseconds: a read should not cost a write. */
const usePrecision = 60_000;

/** Later uses of an owner's keys are stored so far apart at least, in milliseconds: it has thousands of keys. */
const storedEvery = 100;

const scopeKept: Kept<KeyScope> = {
  columns: ["kind", "account_id", "organization_id", "project_id"],
  read(row) {
    const kind = text(row, "kind");
    if (kind === "personal") return { kind, accountId: text(row, "account_id") };
    const organizationId = text(row, "organization_id");
    if (kind === "organization") return { kind, organizationId };
    return { kind: "project", organizationId, projectId: text(row, "project_id") };
  },
  write(of) {
    if (of.kind === "personal") return [of.kind, of.accountId, undefined, undefined];
    return [of.kind, undefined, of.organizationId, of.kind === "project" ? of.projectId : undefined];
  },
};

const kept: Fields<ApiKey> = {
  id: number,
  name: text,
  scope: scopeKept,
  createdBy: text,
  createdAt: number,
  lastUsedAt: optionalNumber,
  lastUsedFrom: optionalText,
};

/** A key with the hash of its secret. */
interface HashedKey extends ApiKey {
  hash: string;
  hashPrefix: string;
  /** True for a key of a seed, which stays as a record once it is revoked: the seed would make it again. */
  planted: boolean;
}

/** The API keys. Revoked keys are never found again. */
export class Keys {
  readonly #db: Database;
  readonly #table: Table<ApiKey>;
  readonly #hashed: Table<HashedKey>;
  /** By id: a use from another address, so soon after the stored one, or that of another key, that it is not stored. */
  readonly #laterUses = new Map<number, { at: number; from: string; storedAt: number; scope: KeyScope }>();
  /** By owner: when the use of one of its keys was stored last. */
  readonly #storedAt = new Map<string, number>();

  constructor(db: Database) {
    this.#db = db;
    this.#table = new Table(db, "api_keys", kept);
    this.#hashed = new Table(db, "api_keys", { ...kept, hash: text, hashPrefix: text, planted: flag });
  }

  insert(
    secret: string,
    key: Pick<ApiKey, "name" | "scope" | "createdBy" | "createdAt">,
    { planted = false } = {},
  ): ApiKey {
    const { id } = this.#hashed.inserted({ ...key, ...hashOf(secret), planted });
    return { ...key, id, lastUsedAt: undefined, lastUsedFrom: undefined };
  }

  /** True if a key with this secret exists, or one of a seed did. */
  exists(secret: string): boolean {
    return this.#hashed.has("WHERE hash = ?", hashOf(secret).hash);
  }

  /** The valid key with this secret. The few keys with the same hash prefix are compared in constant time. */
  bySecret(secret: string): ApiKey | undefined {
    const wanted = hashOf(secret);
    const key = this.#hashed
      .all("WHERE hash >= ?1 AND hash < ?1 || 'g' AND revoked_at IS NULL", wanted.hashPrefix)
      .find((candidate) => timingSafeEqual(Buffer.from(candidate.hash), Buffer.from(wanted.hash)));
    return key && this.get(key.id);
  }

  get(id: number): ApiKey | undefined {
    const key = this.#table.one("WHERE id = ? AND revoked_at IS NULL", id);
    return key && this.#shown(key);
  }

  /** The oldest first. */
  ofAccount(accountId: string): Found<ApiKey> {
    return this.#of({ kind: "personal", accountId });
  }

  ofOrganization(organizationId: string): Found<ApiKey> {
    return this.#of({ kind: "organization", organizationId });
  }

  #of(scope: KeyScope): Found<ApiKey> {
    const [whose, owner] = listOf(scope);
    return this.#table.find(`WHERE ${whose} AND revoked_at IS NULL ORDER BY id`, owner).map((key) => this.#shown(key));
  }

  /** The keys of a page: those of a scope's account or organization with `search` in their name, in a state. */
  find(scope: KeyScope, wanted: RowsWanted, page: PageWanted): PageFound<ApiKey> {
    const [whose, owner] = listOf(scope);
    const where = `WHERE ${whose} AND revoked_at IS NULL AND ${orderOf(keyStates, wanted.state)} AND instr(lower(name), lower(?2)) > 0`;
    const found = this.#table.paged(where, orderOf(keyOrders, wanted.sort), [owner, wanted.search], page);
    return { ...found, rows: found.rows.map((key) => this.#shown(key)) };
  }

  /** The number of valid keys of a scope's account or organization. */
  count(scope: KeyScope): number {
    const [whose, owner] = listOf(scope);
    return this.#table.count(`WHERE ${whose} AND revoked_at IS NULL`, owner);
  }

  /** Permanently. */
  revoke(id: number, at: number): void {
    this.#revoke("id = ?", id, at);
    this.#laterUses.delete(id);
  }

  /** Revokes all keys scoped to projects that leave their organization or are deleted. */
  revokeScopedTo(projectIds: readonly string[], at: number): void {
    const among = "project_id IN (SELECT value FROM json_each(?))";
    this.#revoke(among, JSON.stringify(projectIds), at);
    for (const [id, { scope }] of this.#laterUses)
      if (scope.kind === "project" && projectIds.includes(scope.projectId)) this.#laterUses.delete(id);
  }

  #revoke(which: string, value: number | string, at: number): void {
    const valid = `WHERE ${which} AND revoked_at IS NULL`;
    this.#hashed.delete(`${valid} AND planted = 0`, value);
    this.#db.run(`UPDATE api_keys SET revoked_at = ? ${valid}`, at, value);
  }

  /**
   * Notes a use. Another address shows at once, but only this process knows it until the next use that is stored: a key
   * that two machines use in turn would else cost a write for every request.
   */
  used({ id, lastUsedAt, lastUsedFrom, scope }: ApiKey, at: number, from: string): void {
    const storedAt = this.#laterUses.get(id)?.storedAt ?? lastUsedAt;
    const isOld = storedAt === undefined || Math.abs(at - storedAt) >= usePrecision;
    const [, owner] = listOf(scope);
    const isTurn = Math.abs(at - (this.#storedAt.get(owner) ?? 0)) >= storedEvery;
    if (storedAt === undefined || (isOld && isTurn)) {
      this.#table.update({ lastUsedAt: at, lastUsedFrom: from }, "WHERE id = ?", id);
      this.#storedAt.set(owner, at);
      this.#laterUses.delete(id);
    } else if (isOld || from !== lastUsedFrom) this.#laterUses.set(id, { at, from, storedAt, scope });
  }

  /** The keys are being deleted, and later ones get their ids. */
  forgetUses(): void {
    this.#laterUses.clear();
    this.#storedAt.clear();
  }

  #shown(key: ApiKey): ApiKey {
    const later = this.#laterUses.get(key.id);
    return later ? { ...key, lastUsedAt: later.at, lastUsedFrom: later.from } : key;
  }
}

/** A condition for the list of keys that a scope is shown in, and its value. */
function listOf(scope: KeyScope): [whose: string, owner: string] {
  if (scope.kind === "personal") return ["kind = 'personal' AND account_id = ?1", scope.accountId];
  return ["organization_id = ?1", scope.organizationId];
}

const keyStates = { "": "true", used: "last_used_at IS NOT NULL", unused: "last_used_at IS NULL" };

const keyOrders = {
  "": "id",
  newest: "id DESC",
  name: "name, id",
  used: "last_used_at DESC, id",
  unused: "last_used_at, id",
};

function hashOf(secret: string): Pick<HashedKey, "hash" | "hashPrefix"> {
  const digest = hash("sha256", secret);
  return { hash: digest, hashPrefix: digest.slice(0, 12) };
}
