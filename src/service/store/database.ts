import { chmodSync, closeSync, existsSync, openSync, statfsSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { messageOf } from "../error-message.ts";
import { madeOnce } from "../made-once.ts";
import { StoreFull } from "../refusal.ts";
import { ofMemory } from "../system-limits.ts";
import type { Row } from "./row.ts";
import { firstVersion, latestVersion, steps } from "./schema.ts";

/** The values that can be bound to a statement; `undefined` is stored as null, booleans as 0 and 1. */
export type Value = SQLInputValue | boolean | undefined;

/** The store cannot be opened; the message says what to do. */
export class StoreUnusable extends Error {
  override name = "StoreUnusable";
}

function lowered(value: SQLInputValue): SQLInputValue {
  return typeof value === "string" ? value.toLowerCase() : value;
}

/**
 * The place of a text among others in a person's eyes: its first letters without their accents and cases. Made once for
 * each: a comparison by the rules of a language takes as long as the text's client likes, and so do more letters.
 */
function plain(value: SQLInputValue): SQLInputValue {
  if (typeof value !== "string") return value;
  return value.slice(0, 64).normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
}

/**
 * Room that the file and its log hold for changes on a full disk, in bytes: some ten thousand small ones, such as the
 * deletion of what fills it. Looked after once in so many changes, and made again where less than half is left, and the
 * disk has room for it three times: what is begun there in the file and in its log, and not ended, leaves none.
 */
const keptRoom = 4 * 1024 ** 2;
const lookedAfterEvery = 500;

let emptyStore: Uint8Array | undefined;

/** The SQLite database; each statement is prepared once. */
export class Database {
  readonly #sqlite: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #file: string | undefined;
  #inTransaction = false;
  #changes = 0;

  /** `file` is a path or `:memory:`. Locks the file: two services on one file would miss each other's writes. */
  constructor(file: string) {
    let opened: DatabaseSync | undefined;
    this.#file = file === ":memory:" ? undefined : file;
    try {
      if (this.#file !== undefined) keepPrivate(file);
      opened = new DatabaseSync(file, { timeout: 2000 });
      this.#sqlite = opened;
      this.#sqlite.exec("PRAGMA locking_mode = EXCLUSIVE;");
      // In KiB: what a large account asks for again and again stays in memory.
      this.#sqlite.exec(`PRAGMA cache_size = -${ofMemory(65_536, 1024)};`);
      // SQLite's own knows the letters of ASCII alone.
      this.#sqlite.function("lower", { deterministic: true }, lowered);
      this.#sqlite.function("plain", { deterministic: true }, plain);
      if (this.#file === undefined) this.#startEmpty();
      else this.#openOnDisk(file);
    } catch (error) {
      opened?.close();
      if (error instanceof StoreUnusable) throw error;
      throw new StoreUnusable(
        `cannot use ${file} as the service's store: ${messageOf(error)}. It must be a writable SQLite file of this program that no other service has open.`,
        { cause: error },
      );
    }
  }

  /** The tables of a store in memory are copied from the first one of this process, since tests open thousands. */
  #startEmpty(): void {
    if (emptyStore !== undefined) return this.#sqlite.deserialize(emptyStore);
    this.#migrate(":memory:");
    emptyStore = this.#sqlite.serialize();
  }

  #openOnDisk(file: string): void {
    this.#sqlite.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    this.#migrate(file);
    this.#makeRoom(file);
  }

  /** Writes pages that are free afterwards. */
  #makeRoom(file: string): void {
    try {
      this.#sqlite.exec("DROP TABLE IF EXISTS room");
      const { bavail, bsize } = statfsSync(file);
      if (bavail * bsize < 3 * keptRoom) return;
      this.#sqlite.exec(`CREATE TABLE room AS SELECT zeroblob(${keptRoom}) AS bytes; DROP TABLE room;`);
    } catch (error) {
      if (!(named(error) instanceof StoreFull)) throw error;
    }
  }

  #lookAfterRoom(): void {
    this.#changes += 1;
    if (this.#file === undefined || this.#changes % lookedAfterEvery !== 0) return;
    const [free, size] = ["freelist_count", "page_size"].map((name) => Number(this.one(`PRAGMA ${name}`)?.[name]));
    if ((free ?? 0) * (size ?? 0) < keptRoom / 2) this.#makeRoom(this.#file);
  }

  #migrate(file: string): void {
    const version = Number(this.#sqlite.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
    if (version > latestVersion || (version > 0 && version < firstVersion)) {
      const by = version > latestVersion ? "a newer version of this program" : "this program before its first release";
      const known = version > latestVersion ? latestVersion : `${firstVersion} and newer`;
      throw new StoreUnusable(
        `${file} was written by ${by} (schema ${version}; this one knows ${known}): use that version, or another file.`,
      );
    }
    this.transaction(() => {
      for (const step of steps.slice(version === 0 ? 0 : version - firstVersion + 1)) this.#sqlite.exec(step);
      this.#sqlite.exec(`PRAGMA user_version = ${latestVersion}`);
    });
  }

  /** Runs `change` in one transaction. Throws `StoreFull` where the disk does not take it. */
  transaction<Result>(change: () => Result): Result {
    if (this.#inTransaction) throw new Error("transactions do not nest");
    this.#lookAfterRoom();
    this.#sqlite.exec("BEGIN IMMEDIATE");
    this.#inTransaction = true;
    try {
      const result = change();
      this.#sqlite.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite has already rolled back in some cases, such as a full disk.
      if (this.#sqlite.isTransaction) this.#sqlite.exec("ROLLBACK");
      throw named(error);
    } finally {
      this.#inTransaction = false;
    }
  }

  /**
   * Runs a part of a transaction, and answers the error where it fails: nothing of it is left then, and the rest goes
   * on. Throws where nothing can, as on a full disk.
   */
  part(change: () => void): unknown {
    this.#sqlite.exec("SAVEPOINT part");
    try {
      change();
      this.#sqlite.exec("RELEASE part");
      return undefined;
    } catch (error) {
      const failure = named(error);
      if (failure instanceof StoreFull || !this.#sqlite.isTransaction) throw failure;
      this.#sqlite.exec("ROLLBACK TO part; RELEASE part");
      return failure;
    }
  }

  /** Runs a statement and returns the number of changed rows. Throws `StoreFull` where the disk does not take it. */
  run(sql: string, ...values: Value[]): number {
    try {
      return Number(this.#statement(sql).run(...values.map(bindable)).changes);
    } catch (error) {
      throw named(error);
    }
  }

  one(sql: string, ...values: Value[]): Row | undefined {
    return this.#statement(sql).get(...values.map(bindable));
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.#statement(sql).all(...values.map(bindable));
  }

  close(): void {
    this.#sqlite.close();
  }

  #statement(sql: string): StatementSync {
    return madeOnce(this.#statements, sql, () => this.#sqlite.prepare(sql));
  }
}

/** Only its owner may read it: it holds secrets. SQLite gives the files beside it the same mode. */
function keepPrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600));
  for (const one of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(one)) chmodSync(one, 0o600);
}

/** SQLite's codes for a disk without room, and for one that fails, or whose quota is used up. */
const codes = { full: 13, fails: 10 } as const;

function named(error: unknown): unknown {
  if (!(error instanceof Error && "errcode" in error)) return error;
  // Above these bits stands the step that failed.
  const code = Number(error.errcode) & 0xff;
  if (code === codes.full) return new StoreFull();
  return code === codes.fails ? new StoreFull(error) : error;
}

function bindable(value: Value): SQLInputValue {
  if (value === undefined) return null;
  return typeof value === "boolean" ? Number(value) : value;
}
