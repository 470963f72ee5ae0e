import type { ListedBranch } from "./branch.ts";

/** Branches of a project that concern one Branch: the one that it is linked to, and those with the names it needs. */
export interface BranchInterest {
  id: string | undefined;
  names: readonly string[];
  /** The number of branches concerns it too: a Branch that has none may wait for room. */
  count: boolean;
}

/** A complete list of a project's branches. `startedAt`: when its request began, on the monotonic clock. */
export class BranchListing {
  readonly startedAt: number;
  readonly #byID: ReadonlyMap<string, ListedBranch>;
  readonly #byName: ReadonlyMap<string, readonly ListedBranch[]>;
  readonly #byParent: ReadonlyMap<string | undefined, readonly ListedBranch[]>;

  constructor(branches: readonly ListedBranch[], startedAt: number) {
    this.startedAt = startedAt;
    this.#byID = new Map(branches.map((branch) => [branch.id, branch]));
    this.#byName = Map.groupBy(branches, ({ name = "" }) => name);
    this.#byParent = Map.groupBy(branches, ({ parent_id }) => parent_id);
  }

  get size(): number {
    return this.#byID.size;
  }

  get all(): Iterable<ListedBranch> {
    return this.#byID.values();
  }

  byID(id: string | undefined): ListedBranch | undefined {
    return this.#byID.get(id ?? "");
  }

  named(name: string): readonly ListedBranch[] {
    return this.#byName.get(name) ?? [];
  }

  childrenOf(id: string): readonly ListedBranch[] {
    return this.#byParent.get(id) ?? [];
  }

  /** Differs between two lists where a Branch with this interest may have something to do, or to show. */
  concerning({ id, names, count }: BranchInterest): string {
    const children = id === undefined ? [] : this.childrenOf(id).map((child) => child.id);
    const named = names.map((name) => this.named(name).map(shown));
    return JSON.stringify([shown(this.byID(id)), named, children, count ? this.size : undefined]);
  }
}

/** Sizes that differ by less than half count as the same: that one grew is no reason for a reconcile each time. */
export function sizeClass(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : Math.floor(Math.log2(Math.max(1, bytes)));
}

function shown(branch: ListedBranch | undefined): unknown {
  if (branch === undefined) return undefined;
  const { id, name, parent_id, current_state, expires_at, last_reset_at, logical_size, note } = branch;
  const flags = [branch.default, branch.protected];
  return [id, name, parent_id, current_state, expires_at, last_reset_at, sizeClass(logical_size), note, ...flags];
}
