import { createHash, timingSafeEqual } from "node:crypto";
import type { Database } from "./database.ts";
import { number, optionalNumber, optionalText, type Row, text } from "./row.ts";

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

/** A list without an end: SQLite takes a negative limit for none. */
const whole = { skip: 0, most: -1 };

/** The API keys. Revoked keys stay as records, but are never found again. */
export class Keys {
  readonly #db: Database;
  /** By id: a use from another address, so soon after the stored one that it is not stored. */
  readonly #laterUses = new Map<number, { at: number; from: string; storedAt: number }>();

  constructor(db: Database) {
    this.#db = db;
  }

  insert(secret: string, key: Pick<ApiKey, "name" | "scope" | "createdBy" | "createdAt">): ApiKey {
    const hash = hashOf(secret);
    const { scope } = key;
    const row = this.#db.one(
      `INSERT INTO api_keys (kind, name, account_id, organization_id, project_id, hash_prefix, hash, created_by, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *`,
      scope.kind,
      key.name,
      scope.kind === "personal" ? scope.accountId : undefined,
      scope.kind === "personal" ? undefined : scope.organizationId,
      scope.kind === "project" ? scope.projectId : undefined,
      hash.slice(0, 12),
      hash,
      key.createdBy,
      key.createdAt,
    );
    if (!row) throw new Error("the new key was not stored");
    return keyOf(row);
  }

  /** True if a key with this secret ever existed, revoked or not. */
  exists(secret: string): boolean {
    return this.#db.one("SELECT 1 AS found FROM api_keys WHERE hash = ?", hashOf(secret)) !== undefined;
  }

  /** The valid key with this secret. The few keys with the same hash prefix are compared in constant time. */
  bySecret(secret: string): ApiKey | undefined {
    const hash = hashOf(secret);
    const sql = "SELECT * FROM api_keys WHERE hash_prefix = ? AND revoked_at IS NULL";
    const row = this.#db
      .all(sql, hash.slice(0, 12))
      .find((candidate) => timingSafeEqual(Buffer.from(text(candidate, "hash")), Buffer.from(hash)));
    return row && this.#shown(row);
  }

  get(id: number): ApiKey | undefined {
    const row = this.#db.one("SELECT * FROM api_keys WHERE id = ? AND revoked_at IS NULL", id);
    return row && this.#shown(row);
  }

  /** The oldest first; all, or those of a part. */
  ofAccount(accountId: string, part = whole): ApiKey[] {
    return this.#of("kind = 'personal' AND account_id = ?", accountId, part);
  }

  ofOrganization(organizationId: string, part = whole): ApiKey[] {
    return this.#of("organization_id = ?", organizationId, part);
  }

  #of(whose: string, owner: string, { skip, most }: typeof whole): ApiKey[] {
    const sql = `SELECT * FROM api_keys WHERE ${whose} AND revoked_at IS NULL ORDER BY id LIMIT ? OFFSET ?`;
    return this.#db.all(sql, owner, most, skip).map((row) => this.#shown(row));
  }

  /** The number of valid keys of a scope's account or organization. */
  count(scope: KeyScope): number {
    const whose = scope.kind === "personal" ? "kind = 'personal' AND account_id = ?" : "organization_id = ?";
    const owner = scope.kind === "personal" ? scope.accountId : scope.organizationId;
    const row = this.#db.one(`SELECT count(*) AS count FROM api_keys WHERE ${whose} AND revoked_at IS NULL`, owner);
    return row ? number(row, "count") : 0;
  }

  /** Permanently. */
  revoke(id: number, at: number): void {
    this.#db.run("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", at, id);
  }

  /** Revokes all keys scoped to a project that leaves its organization or is deleted. */
  revokeScopedTo(projectId: string, at: number): void {
    const sql = "UPDATE api_keys SET revoked_at = ? WHERE kind = 'project' AND project_id = ? AND revoked_at IS NULL";
    this.#db.run(sql, at, projectId);
  }

  /**
   * Notes a use. Another address shows at once, but only this process knows it until the next use that is stored: a key
   * that two machines use in turn would else cost a write for every request.
   */
  used({ id, lastUsedAt, lastUsedFrom }: ApiKey, at: number, from: string): void {
    const storedAt = this.#laterUses.get(id)?.storedAt ?? lastUsedAt;
    if (storedAt === undefined || at - storedAt >= usePrecision) {
      this.#db.run("UPDATE api_keys SET last_used_at = ?, last_used_from = ? WHERE id = ?", at, from, id);
      this.#laterUses.delete(id);
    } else if (from !== lastUsedFrom) this.#laterUses.set(id, { at, from, storedAt });
  }

  /** The keys are being deleted, and later ones get their ids. */
  forgetUses(): void {
    this.#laterUses.clear();
  }

  #shown(row: Row): ApiKey {
    const key = keyOf(row);
    const later = this.#laterUses.get(key.id);
    return later ? { ...key, lastUsedAt: later.at, lastUsedFrom: later.from } : key;
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function keyOf(row: Row): ApiKey {
  return {
    id: number(row, "id"),
    name: text(row, "name"),
    scope: scopeOf(row),
    createdBy: text(row, "created_by"),
    createdAt: number(row, "created_at"),
    lastUsedAt: optionalNumber(row, "last_used_at"),
    lastUsedFrom: optionalText(row, "last_used_from"),
  };
}

function scopeOf(row: Row): KeyScope {
  const kind = text(row, "kind");
  if (kind === "personal") return { kind, accountId: text(row, "account_id") };
  const organizationId = text(row, "organization_id");
  if (kind === "organization") return { kind, organizationId };
  return { kind: "project", organizationId, projectId: text(row, "project_id") };
}
