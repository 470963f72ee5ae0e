import { rename } from "node:fs/promises";
import { ownerOfProject } from "../../accounts/owner.ts";
import { Turns } from "../../sharing/turns.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { ServedData } from "../branches/branch-catalogs.ts";
import { mostCopiesOfOwner } from "../branches/branch-copies.ts";
import type { BranchStorage } from "../branches/branch-storage.ts";
import { makeStandby, removeStandby } from "../data/backup.ts";
import { removeTree } from "../host/each-file.ts";
import { serviceEnds } from "../host/failure.ts";
import type { Edition } from "../server/templates.ts";
import type { FleetPorts } from "./fleet-ports.ts";

export type BranchPlace = ServedData & { directory: string };

/** The data of replicas: copies of their branches'. */
export class ReplicaData {
  readonly #ports: Pick<FleetPorts, "ends" | "home" | "newGeneration" | "store">;
  readonly #storage: Pick<BranchStorage, "copy">;
  /** Apart from the copies for branches: these wait for the turn of a branch, in which a replica's is made. */
  readonly #ofOwner = new Turns(mostCopiesOfOwner);

  constructor(ports: FleetPorts, storage: BranchStorage) {
    this.#ports = ports;
    this.#storage = storage;
  }

  /** To be called in the turn of the branch. */
  make({ id, projectId }: StoredEndpoint, branch: BranchPlace, edition: Edition): Promise<void> {
    const owner = ownerOfProject(this.#ports.store, projectId);
    return this.#ofOwner.take(owner, () => this.#make(id, branch, edition), projectId);
  }

  async #make(id: string, { directory, generation }: BranchPlace, edition: Edition): Promise<void> {
    if (this.#ports.ends.aborted) throw serviceEnds();
    const { home, newGeneration } = this.#ports;
    const [making, data] = [home.making(`${id}.${newGeneration()}`), home.replica(id)];
    try {
      await this.#storage.copy(directory, making, edition);
      await makeStandby(making, generation, home.user);
      await removeStandby(data);
      await rename(making, data);
    } finally {
      // A copy that failed is as large as the branch.
      await removeTree(making);
    }
  }
}
