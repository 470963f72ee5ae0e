import type { KubeObject, ResourceKind } from "../objects/object.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs, soonMs } from "../runtime/waits.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { onError } from "./on-error.ts";

export interface ReconcilerOptions<Object extends KubeObject, Memory> {
  cluster: { get(kind: ResourceKind<Object>, metadata: Object["metadata"]): Promise<Object | undefined> };
  clock: Clock;
  kindOf: (object: Object) => ResourceKind<Object>;
  /** The newest stored version; `undefined`: the object is gone. */
  newest: (uid: string) => Object | undefined;
  /** True if this process reconciles the object, by its selector. */
  selects: (object: Object) => boolean;
  /** The memory of an object that this term has not seen yet. `relistedAt`: see `relisted`. */
  remember: (seen: { now: number; relistedAt: number; object: Object | undefined }) => Memory;
  /** A version is about to be reconciled, also one that a patch found outdated. */
  onVersion?: (object: Object, memory: Memory, now: number) => void;
  /** Work that begins once the object is gone, or another process's: its memory stays until this is done. */
  gone?: (uid: string, memory: Memory | undefined) => Promise<void>;
  /** The memory of an object goes, and all that is kept beside it. */
  forgotten?: (uid: string) => void;
}

/**
 * Gives each reconcile of one kind its version of the object, and the memory that this term has of it.
 *
 * Expected flow: the queue calls `reconcile` with a uid, and never twice at once with the same. Guarantees: a memory
 * lives until the object is gone or no longer selected. After a patch found a version outdated, no reconcile is given
 * that version again, unless the API server has no newer one either: the refusal may have another cause.
 */
export class Reconciler<Object extends KubeObject, Memory> {
  readonly #options: ReconcilerOptions<Object, Memory>;
  readonly #memories = new Map<string, Memory>();
  /** By uid: the version that a patch found outdated, and when the API server is asked for the newest. */
  readonly #outdated = new Map<string, { version: string | undefined; until: number }>();
  #relistedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReconcilerOptions<Object, Memory>) {
    this.#options = options;
  }

  /** The memory of an object; `undefined`: this term has not seen it. */
  known(uid: string): Memory | undefined {
    return this.#memories.get(uid);
  }

  memoryOf(uid: string): Memory {
    const known = this.#memories.get(uid);
    if (known !== undefined) return known;
    const { clock, newest, remember } = this.#options;
    const made = remember({ now: clock.monotonic(), relistedAt: this.#relistedAt, object: newest(uid) });
    this.#memories.set(uid, made);
    return made;
  }

  forget(uid: string): void {
    this.#options.forgotten?.(uid);
    this.#memories.delete(uid);
    this.#outdated.delete(uid);
  }

  /**
   * A complete list of the API server came in and may hide a gap of the watch. `needListAfter`: no plan of that memory
   * uses a list of the service from before.
   */
  relisted(needListAfter: (memory: Memory, at: number) => void): void {
    this.#relistedAt = this.#options.clock.monotonic();
    for (const memory of this.#memories.values()) needListAfter(memory, this.#relistedAt);
  }

  async reconcile(
    uid: string,
    turn: (object: Object, memory: Memory, now: number) => Promise<Reconciled>,
  ): Promise<Reconciled> {
    const { clock, kindOf, newest, selects, onVersion, gone } = this.#options;
    const object = newest(uid);
    if (object === undefined || !selects(object)) {
      await gone?.(uid, this.#memories.get(uid));
      this.forget(uid);
      return {};
    }
    const now = clock.monotonic();
    const memory = this.memoryOf(uid);
    onVersion?.(object, memory, now);
    if (await this.#isOutdated(object, now)) return { requeueAfterMs: soonMs };
    try {
      return await turn(object, memory, now);
    } catch (error) {
      return onError(error, kindOf(object), object, { outdated: () => this.#foundOutdated(object) });
    }
  }

  #foundOutdated({ metadata: { uid, resourceVersion: version } }: Object): Reconciled {
    this.#outdated.set(uid, { version, until: this.#options.clock.monotonic() + shortlyMs });
    return { requeueAfterMs: soonMs };
  }

  /** True if a patch found this version outdated, and it is not known that the API server has no newer one. */
  async #isOutdated(object: Object, now: number): Promise<boolean> {
    const { uid, resourceVersion } = object.metadata;
    const found = this.#outdated.get(uid);
    if (found !== undefined && found.version === resourceVersion) {
      if (now < found.until || !(await this.#isNewest(object))) return true;
    }
    this.#outdated.delete(uid);
    return false;
  }

  /** Without the right to ask, the next patch shows whether the version is still outdated. */
  async #isNewest(object: Object): Promise<boolean> {
    this.#foundOutdated(object);
    const { cluster, kindOf } = this.#options;
    const { resourceVersion } = object.metadata;
    try {
      const standing = await cluster.get(kindOf(object), object.metadata);
      // No two objects of a kind have the same version, and the patch tests the uid.
      return standing?.metadata.resourceVersion === resourceVersion;
    } catch (error) {
      return onError(error, kindOf(object), object, { refused: () => true });
    }
  }
}
