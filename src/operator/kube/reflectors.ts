import type { KubeObject } from "./objects.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

/** One reflector per namespace, or one for the whole cluster, read as one. */
export class Reflectors<T extends KubeObject> {
  readonly #reflectors: readonly Reflector<T>[];

  /** `namespaces` empty: the whole cluster. */
  constructor(namespaces: readonly string[], options: Omit<ReflectorOptions<T>, "namespace">) {
    this.#reflectors =
      namespaces.length === 0
        ? [new Reflector(options)]
        : namespaces.map((namespace) => new Reflector({ ...options, namespace }));
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }

  /** Adds the API server's answer to a write of this process. */
  answered(raw: unknown, created: boolean): void {
    for (const reflector of this.#reflectors) reflector.answered(raw, created);
  }

  isServed(): boolean {
    return this.#reflectors.every((reflector) => reflector.isServed());
  }

  isReady(): boolean {
    return this.#reflectors.every((reflector) => reflector.isReady());
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.whenSynced(signal)));
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#first((reflector) => reflector.store.get(namespace, name));
  }

  byUid(uid: string): T | undefined {
    return this.#first((reflector) => reflector.store.byUid(uid));
  }

  within(namespace: string): readonly T[] {
    const all = this.#reflectors.map((reflector) => reflector.store.within(namespace));
    return all.find((objects) => objects.length > 0) ?? [];
  }

  list(): readonly T[] {
    return this.#reflectors.flatMap((reflector) => reflector.store.list());
  }

  #first(read: (reflector: Reflector<T>) => T | undefined): T | undefined {
    for (const reflector of this.#reflectors) {
      const object = read(reflector);
      if (object !== undefined) return object;
    }
    return undefined;
  }

  lastEventAgeMs(): number {
    return Math.max(...this.#reflectors.map((reflector) => reflector.lastEventAgeMs()));
  }
}
