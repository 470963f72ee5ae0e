import type { Change } from "../kube/store.ts";
import { type Branch, branchNameOf } from "../resources/branch.ts";
import { Index, IndexEntries } from "../runtime/index-entries.ts";
import { targetID } from "./plan/claims.ts";

/** The Branches of all projects by what they want: the id that they are linked to or adopt, else the name. */
export class BranchPlaces {
  readonly #entries = new IndexEntries();
  readonly #index = new Index();

  change({ type, object }: Pick<Change<Branch>, "type" | "object">): void {
    const { uid } = object.metadata;
    if (type === "deleted") this.#entries.delete(uid);
    else this.#entries.set(uid, [{ index: this.#index, key: wantedKey(object) }]);
  }

  /** The uids of Branches that may want the branch of this one. */
  near(object: Branch): Set<string> {
    const ids = [object.status.branchID, targetID(object)].filter((id) => id !== undefined);
    const keys = [nameKey(object), ...ids.map((id) => idKey(object, id))];
    return new Set(keys.flatMap((key) => [...this.#index.get(key)]));
  }
}

function wantedKey(object: Branch): string {
  const id = targetID(object);
  return id === undefined ? nameKey(object) : idKey(object, id);
}

function nameKey(object: Branch): string {
  return JSON.stringify([object.spec.projectID, "name", branchNameOf(object)]);
}

function idKey({ spec }: Branch, id: string): string {
  return JSON.stringify([spec.projectID, "id", id]);
}
