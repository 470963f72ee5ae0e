import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ServiceClock } from "../../clock.ts";
import type { HistoryState } from "../../computes/backend.ts";
import { positionOf } from "../../domain/history-point.ts";
import { messageOf } from "../../error-message.ts";
import type { Turns } from "../../sharing/turns.ts";
import type { Uses } from "../../sharing/uses.ts";
import type { BranchData, CopyWanted } from "../../store/branch-data.ts";
import type { Branch } from "../../store/branches.ts";
import type { CatalogThen } from "../../store/catalog.ts";
import type { Store } from "../../store/store.ts";
import { type BranchCatalog, broughtInto, emptyCatalog } from "../catalog/branch-catalog.ts";
import { inherited } from "../catalog/inherited-catalog.ts";
import { type CopiedLog, copyRunning, copyStopped, isCleanlyStopped, removeStandby } from "../data/backup.ts";
import type { Home } from "../data/home.ts";
import { pointFrom } from "../data/point.ts";
import { placeOf } from "../data/segments.ts";
import { linked, stoppedBase } from "../history/branch-history.ts";
import { catalogThen } from "../history/catalog-then.ts";
import { Histories } from "../history/histories.ts";
import { type Present, type RecoveryPorts, recover } from "../history/recovery.ts";
import { renameDurably } from "../host/copy-tree.ts";
import { removeTree, sizeOf } from "../host/each-file.ts";
import { isFullDisk, ServerFailed } from "../host/failure.ts";
import { largerOf, smallest } from "../server/config.ts";
import type { Act, DataServer, Serve } from "../server/own-server.ts";
import type { Edition, Templates } from "../server/templates.ts";
import { makeState } from "./copied-state.ts";
import { makeSchemaOnly } from "./schema-only.ts";

export interface StoragePorts {
  store: Store;
  home: Home;
  templates: Templates;
  /** By branch: who starts, stops, copies or replaces its data. */
  turns: Turns;
  /** The directories that servers have files in, that are copied (their branch may be deleted), or that are made. */
  used: Uses;
  newGeneration: () => string;
  /** Space that the disk of a directory has left for this user. */
  freeBytes(directory: string): Promise<number>;
  /** The server that runs on this data. */
  serverOn(data: string): DataServer | undefined;
  /** Runs a server on data that no compute uses. */
  serve: Serve;
  /** Lets `act` connect to data, whether its server runs or not. */
  reading<Result>(data: string, edition: Edition, act: Act<Result>): Promise<Result>;
  clock: Pick<ServiceClock, "now" | "after">;
}

/** Data that is made in one directory, to be put into another. */
interface Places {
  making: string;
  directory: string;
  edition: Edition;
}

/** The source of data, and its catalogue at a point in its past. */
interface Taken {
  data: BranchData;
  present: Present | undefined;
}

/** Data that was made, and what else there is to record of it. */
export interface MadeData extends BranchData {
  /** Of data that was recovered: the roles and databases of then. */
  earlier: CatalogThen | undefined;
}

/** Space that is left free on the disk whatever is copied, in bytes. */
const reserve = 64 * 1024 ** 2;

/** The data of branches: a directory for each. */
export class BranchStorage {
  readonly #ports: StoragePorts;
  readonly histories: Histories;

  constructor(ports: StoragePorts) {
    this.#ports = ports;
    this.histories = new Histories(join(ports.home.root, "history"), ports.home.user);
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
   * Makes the data of a branch: the copy that is wanted, or else a new cluster. What `record` does not record is
   * removed. Rejects where the source has no data.
   */
  async make(
    branch: Branch,
    pgVersion: number,
    wanted: CopyWanted | undefined,
    record: (made: MadeData) => void,
  ): Promise<void> {
    const { home, templates, used, newGeneration } = this.#ports;
    const edition = await templates.edition(pgVersion);
    const generation = newGeneration();
    const directory = home.branch(branch.id, generation);
    await used.during(directory, async () => {
      const from = await this.#make(edition, directory, wanted);
      record({
        branchId: branch.id,
        generation,
        // A recovered catalog is brought up to date as a whole: its roles may have other passwords.
        catalog: JSON.stringify(from && !from.present ? this.#inherited(from.data, branch.id) : emptyCatalog),
        ...largerOf(smallest, from?.data ?? smallest),
        earlier: from?.present && catalogThen(broughtInto(from.data), from.present),
      });
    });
  }

  async #make(edition: Edition, directory: string, wanted?: CopyWanted): Promise<Taken | undefined> {
    const making = this.#ports.home.making(basename(directory));
    const places = { making, directory, edition };
    try {
      this.#ports.home.noteMaking(this.#ports.store.operations.lastSeq());
      const from = wanted ? await this.#takeFrom(wanted, places) : await this.#newCluster(places);
      await renameDurably(making, directory);
      return from;
    } catch (error) {
      await removeTree(making);
      await this.histories.remove(directory);
      throw isFullDisk(error) ? new ServerFailed(`the disk became full: free some (${messageOf(error)})`) : error;
    }
  }

  /** The history of a branch's data. */
  history(branchId: string): HistoryState | undefined {
    const row = this.#ports.store.branchData.nameOf(branchId);
    return row && this.histories.state(this.#ports.home.branch(branchId, row.generation));
  }

  /**
   * Copies the data of a branch, whether its server runs or not. Answers the log that the copy of a running one has. To
   * be called in the branch's turn.
   */
  copy(from: string, to: string, edition: Edition): Promise<CopiedLog | undefined> {
    return this.#ports.used.during(from, () => this.#copy(from, to, edition));
  }

  /** Removes what no branch has any more and no server uses: all, or until `ends` says that there is no time. */
  async removeUnrecorded(ends = () => false): Promise<void> {
    const { store, home, used } = this.#ports;
    const [names, histories] = [await readdir(join(home.root, "branches")), await this.histories.names()];
    // Asked at once, after the names: what is made meanwhile is in use, or recorded, but never neither.
    const recorded = new Set(store.branchData.names().map((row) => home.branch(row.branchId, row.generation)));
    const unneeded = (all: readonly string[]) =>
      all
        .map((name) => join(home.root, "branches", name))
        .filter((directory) => !recorded.has(directory) && !used.has(directory));
    const [left, lost] = [unneeded(names), unneeded(histories)];
    const removals = [
      ...left.map((directory) => () => removeTree(directory, ends)),
      ...lost.map((directory) => () => this.histories.remove(directory, ends)),
    ];
    for (const remove of removals) {
      await remove();
      if (ends()) return;
    }
    const [replicas, files] = [await readdir(join(home.root, "replicas")), await home.ofComputes()];
    // Asked about together, as thousands are there after each change; and again, as a branch may have come back.
    const gone = store.endpoints.goneAmong([...replicas, ...files.map(({ endpointId }) => endpointId)]);
    const isGone = (endpointId: string) => gone.has(endpointId) && !store.endpoints.byId(endpointId);
    for (const name of replicas) {
      const directory = join(home.root, "replicas", name);
      if (!isGone(name) || used.has(directory)) continue;
      await removeStandby(directory, ends);
      if (ends()) return;
    }
    for (const { file, endpointId } of files)
      if (endpointId.startsWith("ep-") && isGone(endpointId)) await rm(file, { force: true });
  }

  /**
   * Adds a base to the history of a branch whose server runs, in no turn: it may take minutes, and a stolen password is
   * not to wait for it. The end of the server breaks it off.
   */
  async addBase(branchId: string): Promise<void> {
    const { directory } = this.of(branchId);
    const server = this.#ports.serverOn(directory);
    if (!server) return;
    const base = async (to: string) => {
      const { first, consistentAt } = await this.#copyRunning(server, directory, to);
      const [position, bytes] = [positionOf(consistentAt), await sizeOf(to)];
      return { at: this.#ports.clock.now(), position, place: placeOf(first), bytes };
    };
    try {
      await this.#ports.used.during(directory, () => this.histories.of(directory).addBase(base));
    } catch (error) {
      if (this.#ports.serverOn(directory)?.ended === server.ended) throw error;
    }
  }

  async #newCluster({ making, directory, edition: { template } }: Places): Promise<undefined> {
    await this.#copyStopped(template, making);
    const base = stoppedBase(template, this.#ports.clock.now(), (to) => linked(template, to, this.#ports.home.user));
    await this.histories.of(directory).addBase(base);
  }

  /** Steps on the copy alone may take minutes, and keep nobody from its source. */
  async #takeFrom(wanted: CopyWanted, places: Places): Promise<Taken> {
    const { turns, serve, clock } = this.#ports;
    const { making, directory, edition } = places;
    const taken = await turns.take(wanted.sourceId, () => this.#copyFrom(wanted, places));
    if (wanted.schemaOnly) {
      await makeSchemaOnly(making, (settings) => serve(making, edition, { settings }), clock);
      // The history of the source has its rows.
      const own = async (to: string) => {
        await this.#copyStopped(making, to);
        return sizeOf(to);
      };
      await this.histories.of(directory).addBase(stoppedBase(making, clock.now(), own));
    }
    return taken;
  }

  async #copyFrom({ sourceId, point, schemaOnly }: CopyWanted, { making, directory, edition }: Places): Promise<Taken> {
    const data = this.of(sourceId);
    const [before, history] = [this.histories.of(data.directory), this.histories.of(directory)];
    const ports = this.#recoveryPorts(data.directory, edition);
    const { log, recovered } = await makeState(point === undefined ? undefined : pointFrom(point), {
      newestEnd: (since) => before.newestEnd(data.directory, since),
      baseFor: (past) => before.baseFor(past),
      copy: () => this.copy(data.directory, making, edition),
      recover: (past) => recover(data, before, past, making, ports),
      remove: () => removeTree(making),
      now: ports.now,
    });
    if (!schemaOnly) {
      await before.archive(data.directory);
      const copied = log && { position: positionOf(log.consistentAt), place: placeOf(log.last) };
      await history.inherit(before, recovered ?? copied);
      if (log) await history.takeCopied(making);
    }
    return { data, present: recovered?.present };
  }

  #recoveryPorts(directory: string, edition: Edition): RecoveryPorts {
    return {
      now: () => this.#ports.clock.now(),
      owner: this.#ports.home.user,
      refuseFullDisk: (base) => this.#refuseFullDisk(base),
      session: (act) =>
        this.#ports.reading(directory, edition, async (connect) => {
          using client = await connect("postgres");
          return await act(client);
        }),
      serve: (data, point) => this.#ports.serve(data, edition, { recovery: point }),
    };
  }

  async #copy(from: string, to: string, edition: Edition): Promise<CopiedLog | undefined> {
    const server = this.#ports.serverOn(from);
    if (!server) {
      if (!(await isCleanlyStopped(from))) await (await this.#ports.serve(from, edition)).stop();
      await this.#copyStopped(from, to);
      return undefined;
    }
    return this.#copyRunning(server, from, to);
  }

  async #copyRunning({ connect, ended }: DataServer, from: string, to: string): Promise<CopiedLog> {
    using client = await connect();
    await this.#refuseFullDisk(from);
    const ends = new AbortController();
    void ended.then(() => ends.abort(new ServerFailed("the server ended while its data was copied")));
    return await copyRunning(from, to, client, { owner: this.#ports.home.user, ends: ends.signal });
  }

  /** The catalogue that a copy brings along. */
  #inherited(data: BranchData, branchId: string): BranchCatalog {
    const { catalogs, branchData } = this.#ports.store;
    const ofSource = branchData.sourceOf(data.branchId) ? undefined : catalogs.databases(data.branchId);
    return inherited(broughtInto(data), ofSource, catalogs.databases(branchId));
  }

  async #copyStopped(from: string, to: string): Promise<void> {
    await this.#refuseFullDisk(from);
    await copyStopped(from, to, this.#ports.home.user);
  }

  async #refuseFullDisk(from: string): Promise<void> {
    const [needed, free] = await Promise.all([sizeOf(from), this.#ports.freeBytes(this.#ports.home.root)]);
    if (free > needed + reserve) return;
    throw new ServerFailed(`the disk lacks room for a copy of ${Math.ceil(needed / 1024 ** 2)} MiB: free some`);
  }
}
