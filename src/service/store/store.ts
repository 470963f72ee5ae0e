import { ofMemory } from "../system-limits.ts";
import { Accounts } from "./accounts.ts";
import { BranchDataRows } from "./branch-data.ts";
import { BranchPages } from "./branch-pages.ts";
import { Branches } from "./branches.ts";
import { Catalogs } from "./catalog.ts";
import { ComputeSearch } from "./compute-search.ts";
import { Connections } from "./connections.ts";
import { Database } from "./database.ts";
import { Endpoints } from "./endpoints.ts";
import { type KeptText, KeptTexts } from "./kept-texts.ts";
import { Keys } from "./keys.ts";
import { Operations } from "./operations.ts";
import { endpointDays, endpointQuarters, Periods, usageHours } from "./periods.ts";
import { Projects } from "./projects.ts";
import { Removed } from "./removed.ts";
import { text } from "./row.ts";
import { Unbooked } from "./unbooked.ts";

/** All others belong to rows of these, and go with them. */
const usage = ["endpoint_quarters", "endpoint_days", "removed_endpoints"] as const;
const tables = ["api_keys", "projects", "organizations", "accounts", ...usage] as const;

/** The most characters of lists of computes that are kept, of all projects. */
const mostOfLists = ofMemory(64_000_000, 2);

/** All state of the service. */
export class Store {
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly projects: Projects;
  readonly computeSearch: ComputeSearch;
  readonly usageHours: Periods;
  readonly quarters: Periods;
  readonly days: Periods;
  readonly unbooked: Unbooked;
  readonly branches: Branches;
  readonly branchPages: BranchPages;
  readonly branchData: BranchDataRows;
  readonly catalogs: Catalogs;
  readonly endpoints: Endpoints;
  readonly operations: Operations;
  readonly connections: Connections;
  readonly removed: Removed;
  readonly #db: Database;
  readonly #endpointLists = new KeptTexts(mostOfLists);

  constructor(db: Database) {
    this.#db = db;
    this.accounts = new Accounts(db);
    this.keys = new Keys(db);
    this.projects = new Projects(db);
    this.computeSearch = new ComputeSearch(db);
    this.usageHours = new Periods(db, usageHours);
    this.quarters = new Periods(db, endpointQuarters);
    this.days = new Periods(db, endpointDays);
    this.unbooked = new Unbooked(db);
    this.branches = new Branches(db);
    this.branchPages = new BranchPages(db);
    this.branchData = new BranchDataRows(db);
    this.catalogs = new Catalogs(db);
    this.endpoints = new Endpoints(db, (projectId) => this.#endpointLists.delete(projectId));
    this.operations = new Operations(db);
    this.connections = new Connections(db);
    this.removed = new Removed(db);
  }

  /** `file` is a path or `:memory:`. Throws `StoreUnusable`. */
  static open(file: string): Store {
    return new Store(new Database(file));
  }

  transaction<Result>(change: () => Result): Result {
    return this.#db.transaction(change);
  }

  /** Runs a part of a transaction; as `Database.part`. */
  part(change: () => void): unknown {
    return this.#db.part(change);
  }

  /** Runs a part for each item, of which none keeps the others from theirs; answers the errors. */
  parts<Item>(items: readonly Item[], change: (item: Item) => void): unknown[] {
    return items.map((item) => this.part(() => change(item))).filter((error) => error !== undefined);
  }

  /**
   * The JSON text of a project's endpoint list, where it is made already since the last change. Lists are by far the
   * most frequent call and up to megabytes long. To be called outside transactions, as one may be rolled back.
   */
  endpointList(projectId: string): KeptText {
    return this.#endpointLists.of(projectId);
  }

  /** A value that is created once; `make` is called only the first time. */
  constant(key: string, make: () => string): string {
    const row = this.#db.one("SELECT value FROM meta WHERE key = ?", key);
    if (row) return text(row, "value");
    const value = make();
    this.#db.run("INSERT INTO meta VALUES (?, ?)", key, value);
    return value;
  }

  /** With its branches, computes and operations, which are cleared later. */
  deleteProject(projectId: string): void {
    this.projects.remove(projectId);
    this.#endpointLists.delete(projectId);
  }

  /**
   * Empties the store. The secret of passwords stays: the same role on the same branch gets the same password again.
   * Operations and copies are numbered on, as work on earlier ones may be under way: its end is none of a later one's.
   */
  clear(): void {
    for (const table of tables) this.#db.run(`DELETE FROM ${table}`);
    this.#db.run("DELETE FROM sqlite_sequence WHERE name NOT IN ('operations', 'branch_sources')");
    this.#endpointLists.clear();
    this.keys.forgetUses();
  }

  close(): void {
    this.#db.close();
  }
}
