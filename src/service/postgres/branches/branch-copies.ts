import type { ServiceClock } from "../../clock.ts";
import { messageOf } from "../../error-message.ts";
import { Turns } from "../../sharing/turns.ts";
import type { CopyWanted } from "../../store/branch-data.ts";
import type { Store } from "../../store/store.ts";
import { ServerFailed, serviceEnds } from "../host/failure.ts";
import type { BranchStorage, MadeData } from "./branch-storage.ts";

/**
 * The most copies of an owner that are made at once: more are no quicker, and keep those of others waiting. The owner's
 * projects take turns.
 */
export const mostCopiesOfOwner = 4;

export interface CopyPorts {
  store: Store;
  clock: Pick<ServiceClock, "now">;
  storage: Pick<BranchStorage, "make">;
  /** Aborts when the service ends: no copy is begun any more. */
  ends: AbortSignal;
  /** Changes the store in a transaction. */
  change: (act: () => void) => void;
}

/** Data could not be made: that of a wanted copy, or of a new cluster. */
export class CopyFailed extends ServerFailed {
  override name = "CopyFailed";
  readonly wanted: CopyWanted | undefined;

  constructor(cause: unknown, wanted: CopyWanted | undefined) {
    super(messageOf(cause), { cause });
    this.wanted = wanted;
  }
}

/**
 * Gives branches their data. A wanted copy stays recorded until it is made, or taken back where its operation fails and
 * the branch has data: a branch that has none is tried again by the next caller, and never becomes an empty database.
 *
 * A copy waits for earlier ones that concern the same data, and for no other:
 *
 *   wanted earlier                     | why
 *   -----------------------------------|---------------------------------------------------
 *   the copy that its source is to be  | it shows what the source was to become by then
 *   copies of the branch itself        | they get its data before this one replaces it
 */
export class BranchCopies {
  readonly #ports: CopyPorts;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #ofOwner = new Turns(mostCopiesOfOwner);

  constructor(ports: CopyPorts) {
    this.#ports = ports;
  }

  /** Resolves when the branch has the data that it should have, at once where it has. Rejects with `CopyFailed`. */
  ensure(branchId: string): Promise<void> {
    if (!this.#lacks(branchId)) return Promise.resolve();
    const known = this.#underWay.get(branchId);
    if (known) return known;
    const making = this.#make(branchId).finally(() => this.#underWay.delete(branchId));
    this.#underWay.set(branchId, making);
    return making;
  }

  #lacks(branchId: string): boolean {
    const { branches, branchData } = this.#ports.store;
    if (!branches.exists(branchId)) return false;
    return !branchData.nameOf(branchId) || branchData.sourceOf(branchId) !== undefined;
  }

  /** Repeats where another copy is wanted meanwhile. */
  async #make(branchId: string): Promise<void> {
    while (this.#lacks(branchId)) {
      const wanted = this.#ports.store.branchData.sourceOf(branchId);
      await this.#makeWanted(branchId, wanted).catch((error: unknown) => {
        throw new CopyFailed(error, wanted);
      });
    }
  }

  async #makeWanted(branchId: string, wanted: CopyWanted | undefined): Promise<void> {
    if (wanted) await this.#waitForEarlier(wanted);
    const project = this.#placeOf(branchId)?.project;
    if (!project) return;
    const make = async () => {
      // The branch may be gone by its turn.
      const place = this.#placeOf(branchId);
      if (!place) return;
      await this.#ports.storage.make(place.branch, place.project.pgVersion, wanted, (made) =>
        this.#record(made, wanted),
      );
    };
    await this.#ofOwner.take(project.owner.id, make, project.id);
  }

  #placeOf(branchId: string) {
    const { branches, projects } = this.#ports.store;
    if (this.#ports.ends.aborted) throw serviceEnds();
    const branch = branches.byId(branchId);
    const project = branch && projects.get(branch.projectId);
    return project && { branch, project };
  }

  async #waitForEarlier(wanted: CopyWanted): Promise<void> {
    const { sourceId } = wanted;
    const { branches, branchData } = this.#ports.store;
    if (!branches.exists(sourceId)) {
      throw new ServerFailed(`branch ${sourceId}, whose data it was to have, was deleted: restore another branch's`);
    }
    const concerned = branchData.before(wanted);
    const sourceLacks = branchData.nameOf(sourceId) ? [] : [sourceId];
    for (const id of new Set([...sourceLacks, ...concerned.map((one) => one.branchId)])) {
      await this.ensure(id).catch((error: unknown) => {
        throw new ServerFailed(`it waits for the data of branch ${id}: ${messageOf(error)}`, { cause: error });
      });
    }
  }

  /** Records what was made, unless the branch is gone or another copy is wanted by now: then it is removed. */
  #record({ earlier, ...made }: MadeData, wanted: CopyWanted | undefined): void {
    const { store, clock, change } = this.#ports;
    change(() => {
      if (!store.branches.exists(made.branchId)) return;
      if (store.branchData.sourceOf(made.branchId)?.seq !== wanted?.seq) return;
      store.branchData.put(made);
      if (earlier) {
        // A role that the branch has no more comes back, but not with a password that somebody may know.
        const sourceOf = (name: string) => `${made.branchId}/${name}/${made.generation}`;
        store.catalogs.becomeAs(made.branchId, earlier, clock.now(), sourceOf);
      }
      store.branchData.clearSource(made.branchId);
    });
  }
}
