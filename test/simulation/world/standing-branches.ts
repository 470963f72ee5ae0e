import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { Branch } from "../../../src/service/store/branches.ts";
import { notedUID } from "./branch-objects.ts";
import type { ServiceHost } from "./service-host.ts";

/** Since when branches of the service are as they are, as far as somebody looked. Times on the monotonic clock. */
export class StandingBranches {
  readonly #options: { clock: Clock; host: ServiceHost };
  /** By id: since when a branch is protected, or has children. */
  readonly #since = new Map<string, { protected?: number; children?: number }>();
  /** By uid: when each branch of a Branch was last seen standing. */
  readonly #stood = new Map<string, Map<string, number>>();
  /** By id: the name of a branch, and when it was seen to have another than before. */
  readonly #named = new Map<string, { name: string; changedAt: number }>();
  /** By its body: when a create left. */
  readonly #left = new WeakMap<object, number>();
  /** Uids of Branches with a second branch that no operator could prevent. */
  readonly #twice = new Set<string>();

  constructor(options: { clock: Clock; host: ServiceHost }) {
    this.#options = options;
  }

  /** Notes what stands, is protected and has children at this moment. */
  look(): void {
    const { clock, host } = this.#options;
    const now = clock.monotonic();
    for (const branch of host.madeBranches()) {
      const named = this.#named.get(branch.id) ?? { name: branch.name, changedAt: Number.NEGATIVE_INFINITY };
      this.#named.set(branch.id, named.name === branch.name ? named : { name: branch.name, changedAt: now });
      const before = this.since(branch.id);
      this.#since.set(branch.id, {
        ...(branch.isProtected ? { protected: before.protected ?? now } : {}),
        ...(host.childrenOf(branch).length > 0 ? { children: before.children ?? now } : {}),
      });
      const uid = notedUID(branch);
      if (uid === undefined) continue;
      const stood = this.#stood.get(uid) ?? new Map<string, number>();
      this.#stood.set(uid, stood.set(branch.id, now));
    }
  }

  /** A create with this body leaves. */
  left(body: unknown): void {
    if (typeof body === "object" && body !== null) this.#left.set(body, this.#options.clock.monotonic());
  }

  /**
   * The branches of one Branch after a create with this body was carried out, but for those that somebody renamed after
   * the create had left: no operator can know that the name, which would have had it refused, is free.
   */
  twinsOf(uid: string, body: unknown): Branch[] {
    this.look();
    const leftAt = typeof body === "object" && body !== null ? (this.#left.get(body) ?? 0) : 0;
    const made = this.#options.host.madeBranches().filter((branch) => notedUID(branch) === uid);
    const twins = made.filter(({ id }) => (this.#named.get(id)?.changedAt ?? leftAt) <= leftAt);
    if (twins.length < made.length) this.#twice.add(uid);
    return twins;
  }

  /** True if the Branch has a second branch that no operator could prevent. */
  isTwice(uid: string): boolean {
    return this.#twice.has(uid);
  }

  since(id: string): { protected?: number; children?: number } {
    return this.#since.get(id) ?? {};
  }

  /** When one of these branches of a Branch was last seen; minus infinity for none. */
  lastStood(uid: string, ids: ReadonlySet<string>): number {
    const stood = this.#stood.get(uid) ?? new Map<string, number>();
    return Math.max(...[...stood].flatMap(([id, at]) => (ids.has(id) ? [at] : [])));
  }
}
