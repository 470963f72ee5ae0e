import type { Store } from "../store/store.ts";
import type { BranchStorage } from "./branch-storage.ts";
import { BranchCatalog, currentRights, syncCatalog } from "./catalog-sync.ts";
import { messageOf } from "./failure.ts";
import type { SqlClient } from "./sql-client.ts";

export interface CatalogPorts {
  store: Store;
  storage: BranchStorage;
  passwordOf: (passwordSource: string) => string;
  /** Tells the operator of the service what went wrong, in one line. */
  report: (line: string) => void;
  /** Changes the store in a transaction. */
  change: (act: () => void) => void;
}

/** The roles and databases of branches, as the store has them and as they were brought into the data. */
export class BranchCatalogs {
  readonly #ports: CatalogPorts;

  constructor(ports: CatalogPorts) {
    this.#ports = ports;
  }

  /** Whether the data of a branch has them as the store has them. */
  isCurrent(branchId: string): boolean {
    return JSON.stringify(this.#wanted(branchId)) === this.#ports.storage.of(branchId).catalog;
  }

  /**
   * As `sync`, for a server that starts: where that fails, data that has roles from before is served with what it has,
   * and the next start or change tries again. New data has none, so nobody could log in.
   */
  async syncAtStart(branchId: string, connect: (database: string) => Promise<SqlClient>): Promise<void> {
    try {
      await this.sync(branchId, connect);
    } catch (error) {
      const { roles } = BranchCatalog.parse(JSON.parse(this.#ports.storage.of(branchId).catalog));
      if (roles.length === 0) throw error;
      const what = `roles and databases of branch ${branchId} are not all as the API shows them`;
      this.#ports.report(`${what}: ${messageOf(error)}. The next change or start tries again.`);
    }
  }

  /** Brings them into the server that runs on the branch's data. */
  async sync(branchId: string, connect: (database: string) => Promise<SqlClient>): Promise<void> {
    const { store, storage, passwordOf, change } = this.#ports;
    const row = storage.of(branchId);
    const wanted = this.#wanted(branchId);
    const catalog = JSON.stringify(wanted);
    if (catalog === row.catalog) return;
    const applied = BranchCatalog.parse(JSON.parse(row.catalog));
    await syncCatalog({ applied, wanted, passwordOf, connect });
    change(() => {
      const latest = store.branchData.get(branchId);
      if (latest?.generation === row.generation) store.branchData.put({ ...latest, catalog });
    });
  }

  #wanted(branchId: string): BranchCatalog {
    const { catalogs } = this.#ports.store;
    return {
      rights: currentRights,
      roles: catalogs.roles(branchId).map(({ name, login, passwordSource }) => ({ name, login, passwordSource })),
      databases: catalogs.databases(branchId).map(({ id, name, ownerName }) => ({ id, name, ownerName })),
    };
  }
}
