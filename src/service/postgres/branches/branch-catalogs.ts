import type { ServiceClock } from "../../clock.ts";
import { messageOf } from "../../error-message.ts";
import { Turns } from "../../sharing/turns.ts";
import type { Store } from "../../store/store.ts";
import { type BranchCatalog, broughtInto, currentRights, notBrought } from "../catalog/branch-catalog.ts";
import { afterChanges, changesOfClients, leftIn, presentIn, presentQuery } from "../catalog/catalog-changes.ts";
import { outdatedLogins, type SyncPlan, syncCatalog, syncLogins } from "../catalog/catalog-sync.ts";
import { ServerFailed } from "../host/failure.ts";
import type { Session } from "../session/privileged-role.ts";
import { readableRows } from "../session/readable-names.ts";
import type { SqlClient } from "../session/sql-client.ts";
import { unheld } from "../session/unheld.ts";
import type { BranchStorage } from "./branch-storage.ts";

/** The data that a server runs on: after a replacement the branch has other data, of which the server knows nothing. */
export interface ServedData {
  branchId: string;
  generation: string;
}

export interface CatalogPorts {
  store: Store;
  clock: ServiceClock;
  storage: Pick<BranchStorage, "of">;
  passwordOf: (passwordSource: string) => string;
  /** Ends sessions of clients: see `SyncPlan`. */
  logOut: (branchId: string, ...whose: Parameters<SyncPlan["logOut"]>) => Promise<void>;
  /** Tells the operator of the service what went wrong, in one line. */
  report: (line: string) => void;
  /** Changes the store in a transaction. */
  change: (act: () => void) => void;
}

function withRolesToCome(applied: BranchCatalog, wanted: BranchCatalog): BranchCatalog {
  const names = new Set(applied.roles.map(({ name }) => name));
  const toCome = wanted.roles.filter(({ name }) => !names.has(name));
  return { ...applied, roles: [...applied.roles, ...toCome.map((role) => ({ ...role, passwordSource: notBrought }))] };
}

/** The roles and databases of branches, as the store has them and as they were brought into the data. */
export class BranchCatalogs {
  readonly #ports: CatalogPorts;
  /** By branch: a sync and a refresh would take each other's changes for those of clients. */
  readonly #turns = new Turns();
  /** By generation: the refresh that has not begun. */
  readonly #waiting = new Map<string, Promise<void>>();
  /**
   * By branch: roles whose logins hold no more, and that its server may let in all the same. A client can keep a server
   * from each change, as by using up its transaction ids, and keeps no stolen password with that.
   */
  readonly #outdated = new Map<string, Set<string>>();

  constructor(ports: CatalogPorts) {
    this.#ports = ports;
  }

  /** True if the data of a branch has the roles and databases that the store has. */
  isCurrent(branchId: string): boolean {
    return JSON.stringify(this.#wanted(branchId)) === this.#ports.storage.of(branchId).catalog;
  }

  /**
   * As `sync`, for a server that starts: where that fails, data that has roles from before is served with what it has,
   * and the next start or change tries again. New data has none, so nobody could log in.
   */
  async syncAtStart(served: ServedData, connect: (database: string) => Promise<SqlClient>): Promise<void> {
    const { branchId } = served;
    try {
      await this.sync(served, connect);
    } catch (error) {
      const { roles } = broughtInto(this.#ports.storage.of(branchId));
      if (roles.every(({ passwordSource }) => passwordSource === notBrought)) throw error;
      const what = `roles and databases of branch ${branchId} are not all as the API shows them`;
      this.#ports.report(`${what}: ${messageOf(error)}. The next change or start tries again.`);
    }
  }

  /** True of a role that no client of a branch logs in as, whatever its server says. */
  refusesLogin(branchId: string, role: string): boolean {
    return this.#outdated.get(branchId)?.has(role) ?? false;
  }

  #noteOutdated(branchId: string, roles: readonly string[]): Set<string> {
    const noted = new Set(roles);
    this.#outdated.delete(branchId);
    if (noted.size === 0) return noted;
    for (const id of this.#outdated.keys()) if (!this.#ports.store.branches.exists(id)) this.#outdated.delete(id);
    this.#outdated.set(branchId, noted);
    return noted;
  }

  /** Brings them into a server. Rejects with `ServerFailed` where its data is not what the store means. */
  sync(served: ServedData, connect: (database: string) => Promise<SqlClient>): Promise<void> {
    return this.#turns.take(served.branchId, () => this.#sync(served, connect));
  }

  /**
   * Takes over into the store what clients have changed with SQL in a server. All who call while one waits for its turn
   * share that: calls of the API come faster than a server answers.
   */
  refresh(served: ServedData, connect: (database: string) => Promise<Session>): Promise<void> {
    const { branchId, generation } = served;
    const waiting = this.#waiting.get(generation);
    if (waiting) return waiting;
    const refreshed = this.#turns.take(branchId, () => {
      this.#waiting.delete(generation);
      return this.#takeOver(served, connect);
    });
    this.#waiting.set(generation, refreshed);
    return refreshed;
  }

  /**
   * True if the store means the data of a server. From the call that replaces a branch's data on, the store has the
   * roles and databases of the data to come, and the server still serves the data before.
   */
  #isMeant({ branchId, generation }: ServedData): boolean {
    const { branchData } = this.#ports.store;
    return branchData.nameOf(branchId)?.generation === generation && branchData.sourceOf(branchId) === undefined;
  }

  async #sync(served: ServedData, open: (database: string) => Promise<SqlClient>): Promise<void> {
    const { store, storage, clock, passwordOf, logOut, change } = this.#ports;
    const { branchId } = served;
    const connect = unheld(open, clock);
    let failure: { error: unknown } | undefined;
    try {
      await this.#takeOver(served, connect);
    } catch (error) {
      failure = { error };
    }
    if (!this.#isMeant(served)) throw new ServerFailed(`the data of branch ${branchId} is being replaced`);
    const row = storage.of(branchId);
    const wanted = this.#wanted(branchId);
    const applied = broughtInto(row);
    const outdated = this.#noteOutdated(branchId, outdatedLogins({ applied, wanted }));
    const plan: SyncPlan = {
      applied,
      wanted,
      passwordOf,
      connect,
      logOut: (...whose) => logOut(branchId, ...whose),
      hasLogin: (role) => void outdated.delete(role),
    };
    if (failure) {
      // A client can keep its databases from being taken over, and none waits for that to lose its login.
      await syncLogins(plan);
      throw failure.error;
    }
    const catalog = JSON.stringify(wanted);
    if (catalog === row.catalog) return;
    const note = (brought: string) =>
      change(() => {
        const latest = store.branchData.get(branchId);
        if (latest?.generation === row.generation) store.branchData.put({ ...latest, catalog: brought });
      });
    // A role that is made, and deleted after the sync has failed, is one to be dropped.
    note(JSON.stringify(withRolesToCome(applied, wanted)));
    await syncCatalog(plan);
    note(catalog);
    this.#outdated.delete(branchId);
  }

  async #takeOver(served: ServedData, connect: (database: string) => Promise<Session>): Promise<void> {
    const { store, clock, change } = this.#ports;
    const { branchId } = served;
    using client = await connect("postgres");
    const rows = await readableRows(client, presentQuery);
    const [present, left] = [presentIn(rows), leftIn(rows)];
    const row = store.branchData.get(branchId);
    if (row === undefined || !this.#isMeant(served)) return;
    const applied = broughtInto(row);
    const changes = changesOfClients(applied, this.#wanted(branchId), present);
    const catalogAfter = () => JSON.stringify(afterChanges(applied, this.#wanted(branchId), present, left));
    const unchanged = Object.values(changes).every(({ length }) => length === 0);
    if (unchanged && catalogAfter() === JSON.stringify(applied)) return;
    change(() => {
      store.catalogs.takeOver(branchId, changes, clock.now());
      store.branchData.put({ ...row, catalog: catalogAfter() });
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
