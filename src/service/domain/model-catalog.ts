import { createHmac } from "node:crypto";
import type { Ids } from "../ids.ts";
import { stored } from "../refusal.ts";
import type { BranchDatabase, Role } from "../store/catalog.ts";
import type { Store } from "../store/store.ts";
import type { Catalog, ComparedSchemas, WantedCopy } from "./catalog.ts";
import type { HistoryPoint } from "./history-point.ts";

/** Roles and databases as rows of the store. Passwords are not stored: each is derived from a secret of the store. */
export class ModelCatalog implements Catalog {
  readonly #context: { store: Store; ids: Ids };

  constructor(context: { store: Store; ids: Ids }) {
    this.#context = context;
  }

  roles(branchId: string): Role[] {
    return this.#context.store.catalogs.roles(branchId);
  }

  role(branchId: string, name: string): Role | undefined {
    return this.#context.store.catalogs.role(branchId, name);
  }

  createFirstRole(branchId: string, name: string, at: number): Role {
    return this.#put({ branchId, name, login: true, passwordSource: firstSource(branchId, name) }, at);
  }

  createRole(branchId: string, { name, login }: { name: string; login: boolean }, at: number): Role {
    return this.#put({ branchId, name, login, passwordSource: this.#newSource(branchId, name) }, at);
  }

  deleteRole({ branchId, name }: Role): void {
    this.#context.store.catalogs.deleteRole(branchId, name);
  }

  resetPassword(role: Role, at: number): Role {
    const passwordSource = this.#newSource(role.branchId, role.name);
    const changed = { ...role, passwordSource, updatedAt: at };
    this.#context.store.catalogs.putRole(changed);
    return changed;
  }

  passwordOf({ passwordSource }: Pick<Role, "passwordSource">): string {
    const secret = this.#context.store.constant("password-secret", () => this.#context.ids.secret());
    return `npg_${createHmac("sha256", secret).update(passwordSource).digest("base64url").slice(0, 24)}`;
  }

  databases(branchId: string): BranchDatabase[] {
    return this.#context.store.catalogs.databases(branchId);
  }

  database(branchId: string, name: string): BranchDatabase | undefined {
    return this.#context.store.catalogs.database(branchId, name);
  }

  createDatabase(branchId: string, wanted: { name: string; ownerName: string }, at: number): BranchDatabase {
    const { catalogs } = this.#context.store;
    catalogs.insertDatabase({ branchId, ...wanted, createdAt: at, updatedAt: at });
    return stored(`database ${wanted.name}`, catalogs.database(branchId, wanted.name));
  }

  changeDatabase(database: BranchDatabase, wanted: { name: string; ownerName: string }, at: number): BranchDatabase {
    const changed = { ...database, ...wanted, updatedAt: at };
    this.#context.store.catalogs.updateDatabase(changed);
    return changed;
  }

  deleteDatabase({ branchId, name }: BranchDatabase): void {
    this.#context.store.catalogs.deleteDatabase(branchId, name);
  }

  /** The model has no tables. */
  schema(_branchId: string, _database: string, _gone?: AbortSignal): string | Promise<string> {
    return "";
  }

  compared(_schemas: ComparedSchemas, _gone?: AbortSignal): string | Promise<string> {
    return "";
  }

  copyToNew(from: string, to: string, at: number, _what?: WantedCopy): void {
    this.#context.store.catalogs.copy(from, to, at, (name) => firstSource(to, name));
  }

  replace(from: string, to: string, at: number, _point?: HistoryPoint, _keptId?: string): void {
    this.#context.store.catalogs.copy(from, to, at, (name) => this.#newSource(to, name));
  }

  /** The model keeps no history: an earlier state equals the present one. */
  rewind(_from: string, _to: string, _point?: HistoryPoint): void {}

  #put(role: Omit<Role, "createdAt" | "updatedAt">, at: number): Role {
    const made = { ...role, createdAt: at, updatedAt: at };
    this.#context.store.catalogs.putRole(made);
    return made;
  }

  /** A role may have had the name before, with a password that was given away: no two have the same. */
  #newSource(branchId: string, name: string): string {
    return `${branchId}/${name}/${this.#context.ids.uuid()}`;
  }
}

/** Of a role with which a branch begins: the same after each return of the service to its seed. */
function firstSource(branchId: string, name: string): string {
  return `${branchId}/${name}`;
}
