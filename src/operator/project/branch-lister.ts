import type { Branch } from "../../api/branch.ts";
import { type BranchInterest, BranchListing } from "../../api/branch-listing.ts";
import { Id } from "../../api/ids.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority.ts";
import { ListSchedule, type ListScheduleOptions } from "./list-schedule.ts";

/** The branches of one name, by the lists of branches. */
export type NamedBranch =
  | { kind: "failed"; failure: Failure }
  /**
   * `ids`: the branches that have the name; more than one only where a service allows it, or while names change hands.
   * `forMs`: for how long all lists have said so, from the request of the first to that of the last, in milliseconds.
   */
  | { kind: "listed"; ids: readonly string[]; forMs: number };

export interface BranchListerOptions
  extends Pick<ListScheduleOptions, "client" | "clock" | "signal" | "log" | "refreshIntervalMs" | "tenant"> {
  projectID: string;
  /** Enqueues these Computes. */
  enqueue: (uids: Iterable<string>) => void;
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
  readonly #schedule: ListSchedule;
  /** The name that each Compute uses. */
  readonly #users = new Map<string, string>();
  /** The branch on which each Compute had the endpoint that it misses. */
  readonly #missed = new Map<string, string>();
  /** The part of the project that concerns each Branch. */
  readonly #interests = new Map<string, BranchInterest>();
  readonly #waiting = new Set<string>();
  #listing: BranchListing | undefined;
  #names: ReadonlyMap<string, Entry> | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;
  #failure: Failure | undefined;

  constructor(options: BranchListerOptions) {
    this.#options = options;
    this.#schedule = new ListSchedule({
      ...options,
      refreshes: undefined,
      lostAt: () => Number.POSITIVE_INFINITY,
      isUsed: () => this.#isUsed,
      list: (reserved, startedAt) => this.#list(reserved, startedAt),
      onDefect: (failure) => {
        this.#failure = failure;
        this.#schedule.demand.met();
        for (const uid of [...this.#users.keys(), ...this.#missed.keys(), ...this.#interests.keys()])
          this.#waiting.add(uid);
        this.#enqueueWaiting();
      },
      onCalled: () => {},
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
    this.#schedule.want(Number.NEGATIVE_INFINITY, "plan");
    this.#schedule.start();
  }

  /** A Branch uses the lists, and is enqueued by one that shows a change of what concerns it. */
  watch(uid: string, interest: BranchInterest): void {
    this.#interests.set(uid, interest);
    this.#schedule.start();
  }

  /** The latest list if it began after `after`; else a Branch is enqueued with such a list, or with its failure. */
  listedAfter(after: number, uid: string, priority: Priority): BranchListing | undefined {
    if (this.#listing !== undefined && this.#startedAt > after && this.failure === undefined) return this.#listing;
    this.#waiting.add(uid);
    this.#schedule.want(after, priority);
    return undefined;
  }

  /** The latest list, whether newer ones have failed or not. */
  get latest(): BranchListing | undefined {
    return this.#listing;
  }

  /** Failure of the latest lists. */
  get failure(): Failure | undefined {
    return this.#isFailing(this.#listing) ? this.#failure : undefined;
  }

  leave(uid: string): void {
    this.#waiting.delete(uid);
    const wasUsed = this.#isUsed;
    this.#interests.delete(uid);
    this.#users.delete(uid);
    this.#missed.delete(uid);
    if (wasUsed && !this.#isUsed) this.#schedule.plan();
  }

  /**
   * Look-up of the branch on which a Compute had the endpoint that it misses, in a list that begins after `after`.
   * `undefined`: the Compute is enqueued with such a list.
   */
  shows(uid: string, branchID: string, after: number): "shown" | "gone" | "failed" | undefined {
    this.#missed.set(uid, branchID);
    if (this.#isFailing(this.#listing)) return "failed";
    if (this.#listing !== undefined && this.#startedAt > after) return this.lacks(branchID) ? "gone" : "shown";
    this.#waiting.add(uid);
    this.#schedule.want(after, "plan");
    this.#schedule.start();
    return undefined;
  }

  /** True if the latest list lacks this branch. */
  lacks(branchID: string): boolean {
    return this.#listing !== undefined && this.#listing.byID(branchID) === undefined;
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
      this.#waiting.add(uid);
      this.#schedule.want(notBefore, "plan");
      return undefined;
    }
    const isAsWanted = named?.kind === "listed" && named.ids.length === 1 && named.ids[0] === branchID;
    if (!isAsWanted) this.#waiting.add(uid);
    return named;
  }

  /** The refresh interval may have changed. */
  reschedule(): void {
    this.#schedule.plan();
  }

  stop(): void {
    this.#schedule.stop();
  }

  get #isUsed(): boolean {
    return this.#users.size + this.#missed.size + this.#interests.size > 0;
  }

  /** As with endpoints, a single failure after a good list does not count. */
  #isFailing(known: object | undefined): boolean {
    return this.#failure !== undefined && (known === undefined || this.#schedule.demand.failures > 1);
  }

  #lookup(name: string): NamedBranch | undefined {
    if (this.#failure !== undefined && this.#isFailing(this.#names)) return { kind: "failed", failure: this.#failure };
    if (this.#names === undefined) return undefined;
    const { ids, since } = this.#names.get(name) ?? { ids: [], since: this.#startedAt };
    return { kind: "listed", ids, forMs: this.#startedAt - since };
  }

  async #list(client: ServiceClient, startedAt: number): Promise<void> {
    const { projectID, signal } = this.#options;
    const answer = await client.branches.list(projectID, signal);
    if (answer.kind === "ok") this.#listed(answer.value, startedAt);
    else this.#failure = answer;
    this.#schedule.demand.ended(answer.kind === "ok");
    this.#schedule.demand.met();
    this.#enqueueWaiting();
  }

  #listed(branches: readonly Branch[], startedAt: number): void {
    const before = this.#names;
    const listed = Map.groupBy(branches, ({ name = "" }) => name);
    // The names in use are remembered also where no branch has them: an absence counts from its first list.
    const names = new Set([...listed.keys(), ...this.#users.values()]);
    const entryOf = (name: string): Entry => {
      const ids = idsNamed(name, listed.get(name) ?? []);
      const old = before?.get(name);
      return old !== undefined && sameIDs(old.ids, ids) ? old : { ids, since: startedAt };
    };
    const earlier = this.#listing;
    const listing = new BranchListing(branches, startedAt);
    for (const [uid, id] of this.#missed) {
      const hasChanged = (earlier?.byID(id) === undefined) !== (listing.byID(id) === undefined);
      // While lists failed, the branch was looked up in vain.
      if (hasChanged || this.#failure !== undefined) this.#waiting.add(uid);
    }
    for (const [uid, interest] of this.#interests) {
      if (earlier?.concerning(interest) !== listing.concerning(interest)) this.#waiting.add(uid);
    }
    this.#listing = listing;
    this.#failure = undefined;
    this.#startedAt = startedAt;
    this.#names = new Map([...names].map((name) => [name, entryOf(name)]));
    for (const [uid, name] of this.#users) {
      if (before?.get(name) !== this.#names.get(name)) this.#waiting.add(uid);
    }
  }

  #enqueueWaiting(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#options.enqueue(waiting);
  }
}

/** The ids of the branches that have this name, sorted. */
export function idsNamed(wanted: string, branches: readonly Branch[]): string[] {
  return branches.flatMap(({ id, name }) => (name === wanted && Id.safeParse(id).success ? [id] : [])).toSorted();
}

function sameIDs(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index]);
}
