import type { Store } from "../store/store.ts";
import type { BranchStorage } from "./branch-storage.ts";
import { BranchCatalog, currentRights, syncCatalog } from "./catalog-sync.ts";
import type { SqlClient } from "./sql-client.ts";

export interface CatalogPorts {
  store: Store;
  storage: BranchStorage;
  passwordOf: (passwordSource: string) => string;
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
