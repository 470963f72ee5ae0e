import type { ListedBranch } from "../../api/branch.ts";
import { type BranchInterest, BranchListing } from "../../api/branch-listing.ts";
import { Id } from "../../api/ids.ts";
import type { Answer, Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority.ts";
import { Lister, type ListerOptions, type ListsBefore } from "./lister.ts";

/** The branches of one name, by the lists of branches. */
export type NamedBranch =
  | { kind: "failed"; failure: Failure }
  /**
   * `ids`: the branches that have the name; more than one only where a service allows it, or while names change hands.
   * `forMs`: for how long all lists have said so, from the request of the first to that of the last, in milliseconds.
   */
  | { kind: "listed"; ids: readonly string[]; forMs: number };

export interface BranchListerOptions
  extends Pick<
    ListerOptions<BranchListing>,
    "client" | "clock" | "signal" | "log" | "refreshIntervalMs" | "tenant" | "enqueue"
  > {
  projectID: string;
}

interface Entry {
  ids: readonly string[];
  /** Begin of the request of the first list that said so. */
  since: number;
}

/**
 * One list of branches per project and refresh, shared by all Branches and by the Computes that name their branch or
 * miss their endpoint, and made only while there are any. A Compute that has asked for a name is enqueued by the next
 * list unless its name is as it wants it. Renaming and lagging reads can show a name twice, not at all, or on its
 * former branch: callers that have followed it once wait until lists some time apart agree.
 */
export class BranchLister {
  readonly #options: BranchListerOptions;
  readonly #lists: Lister<BranchListing>;
  /** The name that each Compute uses. */
  readonly #users = new Map<string, string>();
  /** The branch on which each Compute had the endpoint that it misses. */
  readonly #missed = new Map<string, string>();
  /** The part of the project that concerns each Branch. */
  readonly #interests = new Map<string, BranchInterest>();
  #names: ReadonlyMap<string, Entry> | undefined;

  constructor(options: BranchListerOptions) {
    this.#options = options;
    this.#lists = new Lister({
      ...options,
      list: (admitted, startedAt) => this.#list(admitted, startedAt),
      onListed: (listing, before) => this.#listed(listing, before),
      isUsed: () => this.#isUsed,
      users: () => [...this.#users.keys(), ...this.#missed.keys(), ...this.#interests.keys()],
    });
  }

  /** A Compute names its branch so; `undefined`: it gives an id. */
  use(uid: string, name: string | undefined): void {
    if (name === undefined) {
      this.#users.delete(uid);
      return;
    }
    const isFirst = this.#users.size === 0;
    this.#users.set(uid, name);
    if (!isFirst) return;
    const { clock, refreshIntervalMs } = this.#options;
    if (clock.monotonic() - this.#startedAt >= refreshIntervalMs()) this.#names = undefined;
    // Only the first list is waited for. Any later one comes with the refresh.
    this.#lists.want(Number.NEGATIVE_INFINITY, "plan");
    this.#lists.start();
  }

  /** A Branch uses the lists, and is enqueued by one that shows a change of what concerns it. */
  watch(uid: string, interest: BranchInterest): void {
    this.#interests.set(uid, interest);
    this.#lists.start();
  }

  /** The latest list if it began after `after`; else a Branch is enqueued with such a list, or with its failure. */
  listedAfter(after: number, uid: string, priority: Priority): BranchListing | undefined {
    const listing = this.#lists.after(after);
    if (listing === undefined) this.#lists.ask(uid, after, priority);
    return listing;
  }

  /** The latest list, whether newer ones have failed or not. */
  get latest(): BranchListing | undefined {
    return this.#lists.latest;
  }

  /** Failure of the latest lists. */
  get failure(): Failure | undefined {
    return this.#lists.failure;
  }

  leave(uid: string): void {
    for (const users of [this.#interests, this.#users, this.#missed]) users.delete(uid);
    this.#lists.leave(uid);
  }

  /**
   * Look-up of the branch on which a Compute had the endpoint that it misses, in a list that begins after `after`.
   * `undefined`: the Compute is enqueued with such a list.
   */
  shows(uid: string, branchID: string, after: number): "shown" | "gone" | "failed" | undefined {
    this.#missed.set(uid, branchID);
    if (this.failure !== undefined) return "failed";
    if (this.#lists.after(after) !== undefined) return this.lacks(branchID) ? "gone" : "shown";
    this.#lists.ask(uid, after, "plan");
    this.#lists.start();
    return undefined;
  }

  /** True if the latest list lacks this branch. */
  lacks(branchID: string): boolean {
    return this.latest !== undefined && this.latest.byID(branchID) === undefined;
  }

  /** A Compute misses no endpoint any more. */
  found(uid: string): void {
    this.#missed.delete(uid);
  }

  /**
   * Knowledge of a name, for a Compute that wants it to be this branch. `undefined`: nothing yet, or nothing from a
   * list that began at `notBefore` or later; the Compute is enqueued with such a list.
   */
  lookup(
    uid: string,
    name: string,
    branchID: string | undefined,
    notBefore = Number.NEGATIVE_INFINITY,
  ): NamedBranch | undefined {
    const named = this.#lookup(name);
    if (named?.kind === "listed" && this.#startedAt < notBefore) {
      this.#lists.ask(uid, notBefore, "plan");
      return undefined;
    }
    const isAsWanted = named?.kind === "listed" && named.ids.length === 1 && named.ids[0] === branchID;
    if (!isAsWanted) this.#lists.wait(uid);
    return named;
  }

  /** The refresh interval may have changed. */
  reschedule(): void {
    this.#lists.reschedule();
  }

  stop(): void {
    this.#lists.stop();
  }

  get #isUsed(): boolean {
    return this.#users.size + this.#missed.size + this.#interests.size > 0;
  }

  /** Begin of the request of the latest list. */
  get #startedAt(): number {
    return this.latest?.startedAt ?? Number.NEGATIVE_INFINITY;
  }

  #lookup(name: string): NamedBranch | undefined {
    const { failure } = this;
    if (failure !== undefined) return { kind: "failed", failure };
    if (this.#names === undefined) return undefined;
    const { ids, since } = this.#names.get(name) ?? { ids: [], since: this.#startedAt };
    return { kind: "listed", ids, forMs: this.#startedAt - since };
  }

  async #list(client: ServiceClient, startedAt: number): Promise<Answer<BranchListing>> {
    const { projectID, signal } = this.#options;
    const answer = await client.branches.list(projectID, signal);
    return answer.kind === "ok" ? { ...answer, value: new BranchListing(answer.value, startedAt) } : answer;
  }

  /** Returns the Computes and Branches that the list affects. */
  #listed(listing: BranchListing, { latest, hasFailed }: ListsBefore<BranchListing>): Set<string> {
    const affected = new Set<string>();
    for (const [uid, id] of this.#missed) {
      const hasChanged = (latest?.byID(id) === undefined) !== (listing.byID(id) === undefined);
      // While lists failed, the branch was looked up in vain.
      if (hasChanged || hasFailed) affected.add(uid);
    }
    for (const [uid, interest] of this.#interests) {
      if (latest?.concerning(interest) !== listing.concerning(interest)) affected.add(uid);
    }
    const before = this.#names;
    this.#names = this.#namesIn(listing);
    for (const [uid, name] of this.#users) {
      if (before?.get(name) !== this.#names.get(name)) affected.add(uid);
    }
    return affected;
  }

  /** The names of the list, and those in use that no branch has: an absence counts from its first list. */
  #namesIn(listing: BranchListing): Map<string, Entry> {
    const names = [...listing.all].map(({ name = "" }) => name);
    const entryOf = (name: string): Entry => {
      const ids = idsNamed(name, listing.named(name));
      const old = this.#names?.get(name);
      return old !== undefined && sameIDs(old.ids, ids) ? old : { ids, since: listing.startedAt };
    };
    return new Map([...names, ...this.#users.values()].map((name) => [name, entryOf(name)]));
  }
}

/** The ids of the branches that have this name, sorted. */
export function idsNamed(wanted: string, branches: readonly Pick<ListedBranch, "id" | "name">[]): string[] {
  return branches.flatMap(({ id, name }) => (name === wanted && Id.safeParse(id).success ? [id] : [])).toSorted();
}

function sameIDs(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index]);
}
