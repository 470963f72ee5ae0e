import { existsSync } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { BranchData } from "../store/branch-data.ts";
import type { Branch } from "../store/branches.ts";
import type { Store } from "../store/store.ts";
import { type CopyMeans, copyRunning, copyStopped, isCleanlyStopped } from "./backup.ts";
import { BranchCatalog, emptyCatalog } from "./catalog-sync.ts";
import { type Limits, limitsOf } from "./config.ts";
import { copySlots, sync } from "./copy-tree.ts";
import { isFullDisk, messageOf, ServerFailed } from "./failure.ts";
import type { Home } from "./home.ts";
import { keepSchemaOnly } from "./schema-only.ts";
import { Slots } from "./slots.ts";
import type { SqlClient } from "./sql-client.ts";
import type { Edition, Templates } from "./templates.ts";
import type { Turns } from "./turns.ts";

/** A server that runs on some data only for us. */
export interface OwnServer {
  /** Logs in as superuser, or as the role that is named. */
  connect(database: string, login?: { user: string; password: string }): Promise<SqlClient>;
  stop(): Promise<void>;
}

export interface StoragePorts {
  store: Store;
  home: Home;
  templates: Templates;
  /** By branch: who starts, stops, copies or replaces its data. */
  turns: Turns;
  newGeneration: () => string;
  /** How much the disk of a directory has left for this user. */
  freeBytes(directory: string): Promise<number>;
  /** Connects as superuser to the server that runs on this data; `undefined` where none does. */
  connectTo(data: string): Promise<SqlClient> | undefined;
  /** Runs a server on data that no compute uses. */
  serve(data: string, edition: Edition): Promise<OwnServer>;
}

/** What is left free on the disk whatever is copied, in bytes. */
const reserve = 64 * 1024 ** 2;

const smallest: Limits = limitsOf({ min: 0.25, max: 0.25 });

/** The data of branches: a directory for each. */
export class BranchStorage {
  readonly #ports: StoragePorts;
  /** Made, and not recorded yet. */
  readonly #fresh = new Set<string>();
  /** Being copied: their branch may be deleted meanwhile. */
  readonly #read = new Set<string>();
  /** For the files of all copies. */
  readonly #slots = new Slots(copySlots);

  constructor(ports: StoragePorts) {
    this.#ports = ports;
  }

  /** The data of a branch. Throws `ServerFailed` where it is not there. */
  of(branchId: string): BranchData & { directory: string } {
    const row = this.#ports.store.branchData.get(branchId);
    if (!row) throw new ServerFailed(`branch ${branchId} has no data yet`);
    const directory = this.#ports.home.branch(branchId, row.generation);
    if (!existsSync(directory)) throw new ServerFailed(`the data of branch ${branchId} is missing: ${directory}`);
    return { ...row, directory };
  }

  /**
   * Makes the data of a branch: a copy of the source's as it is now, or without one a new cluster. Nothing is recorded:
   * the caller records what this answers and then calls `release`, or it is removed. Rejects where the source has no
   * data.
   */
  async make(branch: Branch, pgVersion: number, source: string | undefined): Promise<BranchData> {
    const { home, templates, turns, newGeneration } = this.#ports;
    const edition = await templates.edition(pgVersion);
    const generation = newGeneration();
    const making = home.making(`${branch.id}.${generation}`);
    let from: BranchData | undefined;
    try {
      if (source === undefined) await this.#copyStopped(edition.template, making);
      else from = await turns.take(source, () => this.#copyOf(source, making, edition));
      if (branch.details.init_source === "schema-only") await this.#keepSchemaOnly(making, edition);
      const directory = home.branch(branch.id, generation);
      this.#fresh.add(directory);
      await rename(making, directory);
      await sync(dirname(directory));
    } catch (error) {
      await rm(making, { recursive: true, force: true });
      throw isFullDisk(error) ? new ServerFailed(`the disk became full: free some (${messageOf(error)})`) : error;
    }
    return {
      branchId: branch.id,
      generation,
      catalog: JSON.stringify(from ? inherited(from.catalog) : emptyCatalog),
      maxConnections: from?.maxConnections ?? smallest.maxConnections,
      maxWorkerProcesses: from?.maxWorkerProcesses ?? smallest.maxWorkerProcesses,
    };
  }

  /** The data that was made is recorded, or is not needed. */
  release({ branchId, generation }: BranchData): void {
    this.#fresh.delete(this.#ports.home.branch(branchId, generation));
  }

  /** Copies the data of a branch, whether its server runs or not. To be called in the branch's turn. */
  async copy(from: string, to: string, edition: Edition): Promise<void> {
    this.#read.add(from);
    try {
      await this.#copy(from, to, edition);
    } finally {
      this.#read.delete(from);
    }
  }

  /** Removes what no branch has any more; `used` are the directories that servers run on. */
  async removeUnrecorded(used: ReadonlySet<string>): Promise<void> {
    const { store, home } = this.#ports;
    const names = await readdir(join(home.root, "branches"));
    // Asked at once, after the names: what is made meanwhile is fresh, or recorded, but never neither.
    const recorded = new Set(store.branchData.all().map((row) => home.branch(row.branchId, row.generation)));
    const unneeded = names
      .map((name) => join(home.root, "branches", name))
      .filter((directory) => !recorded.has(directory) && !used.has(directory))
      .filter((directory) => !this.#fresh.has(directory) && !this.#read.has(directory));
    for (const directory of unneeded) await rm(directory, { recursive: true, force: true });
    for (const name of await readdir(join(home.root, "replicas"))) {
      const directory = join(home.root, "replicas", name);
      const endpoint = store.endpoints.byId(basename(directory));
      if (!endpoint && !used.has(directory)) await rm(directory, { recursive: true, force: true });
    }
  }

  async #copyOf(branchId: string, to: string, edition: Edition): Promise<BranchData> {
    const source = this.of(branchId);
    await this.copy(source.directory, to, edition);
    return source;
  }

  async #copy(from: string, to: string, edition: Edition): Promise<void> {
    const connecting = this.#ports.connectTo(from);
    if (connecting === undefined) {
      if (!(await isCleanlyStopped(from))) await (await this.#ports.serve(from, edition)).stop();
      await this.#copyStopped(from, to);
      return;
    }
    const client = await connecting;
    try {
      await this.#refuseFullDisk(from);
      await copyRunning(from, to, client, this.#means);
    } finally {
      client.close();
    }
  }

  get #means(): CopyMeans {
    return { owner: this.#ports.home.user, slots: this.#slots };
  }

  async #copyStopped(from: string, to: string): Promise<void> {
    await this.#refuseFullDisk(from);
    await copyStopped(from, to, this.#means);
  }

  async #refuseFullDisk(from: string): Promise<void> {
    const [needed, free] = await Promise.all([sizeOf(from), this.#ports.freeBytes(this.#ports.home.root)]);
    if (free > needed + reserve) return;
    throw new ServerFailed(`the disk lacks room for a copy of ${Math.ceil(needed / 1024 ** 2)} MiB: free some`);
  }

  async #keepSchemaOnly(data: string, edition: Edition): Promise<void> {
    const server = await this.#ports.serve(data, edition);
    try {
      await keepSchemaOnly(server);
    } finally {
      await server.stop();
    }
  }
}

/** What a copy brings along. Its databases have other ids in the store. */
function inherited(catalog: string): BranchCatalog {
  const parsed = BranchCatalog.parse(JSON.parse(catalog));
  return { ...parsed, databases: parsed.databases.map((database) => ({ ...database, id: 0 })) };
}

async function sizeOf(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(join(entry.parentPath, entry.name))
        .then(({ size }) => size)
        .catch(() => 0),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
