import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { notedUID } from "./branch-objects.ts";
import type { ServiceHost } from "./service-host.ts";

/** Since when branches of the service are as they are, as far as somebody looked. Times on the monotonic clock. */
export class StandingBranches {
  readonly #options: { clock: Clock; host: ServiceHost };
  /** By id: since when a branch is protected, or has children. */
  readonly #since = new Map<string, { protected?: number; children?: number }>();
  /** By uid: when each branch of a Branch was last seen standing. */
  readonly #stood = new Map<string, Map<string, number>>();

  constructor(options: { clock: Clock; host: ServiceHost }) {
    this.#options = options;
  }

  /** Notes what stands, is protected and has children at this moment. */
  look(): void {
    const { clock, host } = this.#options;
    const now = clock.monotonic();
    for (const branch of host.madeBranches()) {
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

  since(id: string): { protected?: number; children?: number } {
    return this.#since.get(id) ?? {};
  }

  /** When one of these branches of a Branch was last seen; minus infinity for none. */
  lastStood(uid: string, ids: ReadonlySet<string>): number {
    const stood = this.#stood.get(uid) ?? new Map<string, number>();
    return Math.max(...[...stood].flatMap(([id, at]) => (ids.has(id) ? [at] : [])));
  }
}
