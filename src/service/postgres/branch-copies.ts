import type { BranchData } from "../store/branch-data.ts";
import type { Store } from "../store/store.ts";
import type { BranchStorage } from "./branch-storage.ts";
import { messageOf, ServerFailed } from "./failure.ts";
import { Turns } from "./turns.ts";

export interface CopyPorts {
  store: Store;
  storage: BranchStorage;
  /** Changes the store in a transaction. */
  change: (act: () => void) => void;
}

/**
 * Gives branches their data, one at a time and in the order in which it was asked for: what a restore keeps under
 * another name is copied before it is replaced.
 */
export class BranchCopies {
  readonly #ports: CopyPorts;
  readonly #turns = new Turns();
  readonly #failures = new Map<string, string>();
  #closed = false;

  constructor(ports: CopyPorts) {
    this.#ports = ports;
  }

  /** Begins no copy any more. */
  close(): void {
    this.#closed = true;
  }

  /** Resolves when the branch has the data that it should have. Rejects with `ServerFailed`. */
  async ensure(branchId: string): Promise<void> {
    await this.#turns.take("", async () => {
      if (this.#closed) throw new ServerFailed("the service ends");
      const { branchData } = this.#ports.store;
      for (const wanted of branchData.sources()) {
        const own = wanted.branchId === branchId;
        if (!own && !branchData.sources().some((one) => one.branchId === branchId)) break;
        await this.#make(wanted.branchId, wanted.sourceId);
        if (own) break;
      }
      if (!branchData.get(branchId) && !this.#failures.has(branchId)) await this.#make(branchId, undefined);
    });
    const failure = this.#failures.get(branchId);
    this.#failures.delete(branchId);
    if (failure !== undefined) throw new ServerFailed(failure);
  }

  /** Makes one branch's data and records it; a failure is kept for the next caller that needs the branch. */
  async #make(branchId: string, sourceId: string | undefined): Promise<void> {
    const { store, storage, change } = this.#ports;
    const branch = store.branches.byId(branchId);
    const project = branch && store.projects.get(branch.projectId);
    if (!project) return;
    try {
      if (sourceId !== undefined && !store.branchData.get(sourceId)) await this.#make(sourceId, undefined);
      this.#record(await storage.make(branch, project.pgVersion, sourceId));
    } catch (error) {
      this.#failures.set(branchId, messageOf(error));
      change(() => {
        store.branchData.clearSource(branchId);
        // What was to be kept is not: then it is not replaced either.
        store.branchData.clearSource(sourceId ?? "");
      });
    }
  }

  #record(made: BranchData): void {
    const { store, change } = this.#ports;
    change(() => {
      // It may have been deleted meanwhile; what was made is then removed as unrecorded.
      if (!store.branches.exists(made.branchId)) return;
      store.branchData.put(made);
      store.branchData.clearSource(made.branchId);
    });
    this.#ports.storage.release(made);
  }
}
