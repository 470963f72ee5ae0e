import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { ClusterUnreachable } from "../../../src/operator/kube/errors.ts";
import type { ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { placeOf } from "../../../src/operator/objects/object.ts";
import { type Compute, parseCompute } from "../../../src/operator/resources/compute.ts";
import { eventually } from "../../support/eventually.ts";
import { patience } from "../../support/patience.ts";

/** How long is waited for what a test expects, in milliseconds. */
const patienceMs = 90_000;

/** Every version of every Compute that the API server has had, as a watch of the test's own delivers them. */
export class Versions {
  readonly #stop = new AbortController();
  readonly #known = new Map<string, Compute[]>();
  readonly #gone = new Set<string>();
  readonly #operatorsWords: () => string;
  readonly #listeners = new Set<() => void>();

  /** Resolves when all that happens from now on will be seen. */
  readonly begun: Promise<void>;

  /** `operatorsWords`: for those who ask why an operator did not do what was expected. */
  constructor(transport: ClusterTransport, operatorsWords = () => "") {
    this.#operatorsWords = operatorsWords;
    const begin = Promise.withResolvers<void>();
    this.begun = begin.promise;
    void this.#follow(transport, begin);
  }

  /** All versions under this name, oldest first: of several objects, where it was deleted and made again. */
  of(namespace: string, name: string): readonly Compute[] {
    return this.#known.get(`${namespace}/${name}`) ?? [];
  }

  get all(): readonly (readonly Compute[])[] {
    return [...this.#known.values()];
  }

  /** Resolves with the newest version as soon as it is as wished; one that is gone is `undefined`. */
  async until(
    namespace: string,
    name: string,
    what: string,
    isSo: (compute: Compute | undefined) => boolean,
  ): Promise<Compute | undefined> {
    const place = `${namespace}/${name}`;
    const newest = () => (this.#gone.has(place) ? undefined : this.of(namespace, name).at(-1));
    return new Promise((resolve, reject) => {
      const check = () => {
        const compute = newest();
        if (!isSo(compute)) return;
        finish();
        resolve(compute);
      };
      const timer = patience(patienceMs, () => {
        finish();
        const last = newest();
        const shown = last === undefined ? "is not there" : JSON.stringify(last);
        reject(new Error(`${place} does not come to ${what}. It ${shown}. ${this.#operatorsWords()}`));
      });
      const finish = () => {
        timer.stop();
        this.#listeners.delete(check);
      };
      this.#listeners.add(check);
      check();
    });
  }

  stop(): void {
    this.#stop.abort();
  }

  /**
   * Lists and watches until it is stopped. The API server ends a watch long before its time where its reader is slow or
   * the CRD changes: the next one continues at the last version, and where that has expired, at a list.
   */
  async #follow(transport: ClusterTransport, begun: PromiseWithResolvers<void>): Promise<void> {
    const { signal } = this.#stop;
    let resourceVersion: string | undefined;
    while (!signal.aborted) {
      try {
        resourceVersion ??= this.#takeAll(await list(transport, signal));
        begun.resolve();
        const watch = { path, query: { watch: "true", timeoutSeconds: "3600", resourceVersion } };
        for await (const { type, object } of transport.watch(watch, { signal, idleTimeoutMs: 3_600_000 })) {
          if (type === "ERROR") throw new Error(`the watch of ${path} ended: ${JSON.stringify(object)}`);
          resourceVersion = this.#take(type, object);
        }
      } catch (error) {
        begun.reject(error);
        // One that was cut off continues too: a list would miss the versions between.
        if (!(error instanceof ClusterUnreachable)) resourceVersion = undefined;
      }
      await sleep(betweenWatchesMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Takes in all that there is; what is not there is gone. Returns the version of the list. */
  #takeAll({ items, metadata }: z.infer<typeof List>): string {
    const present = new Set(items.map((item) => placeOf(Item.parse(item).metadata)));
    for (const item of items) this.#take("ADDED", item);
    for (const place of this.#known.keys()) if (!present.has(place)) this.#gone.add(place);
    for (const listener of this.#listeners) listener();
    return metadata.resourceVersion;
  }

  /** Returns the object's version. */
  #take(type: string, object: unknown): string {
    const { metadata } = Item.parse(object);
    const parsed = parseCompute(object);
    if (!parsed.ok) return metadata.resourceVersion;
    const place = placeOf(metadata);
    if (type === "DELETED") this.#gone.add(place);
    else {
      this.#gone.delete(place);
      const before = this.#known.get(place) ?? [];
      const isNews = before.at(-1)?.metadata.resourceVersion !== metadata.resourceVersion;
      if (isNews) this.#known.set(place, [...before, parsed.value]);
    }
    for (const listener of this.#listeners) listener();
    return metadata.resourceVersion;
  }
}

const path = "/apis/compute-operator.dev/v1alpha1/computes";

/** Pause before the next watch, in milliseconds. */
const betweenWatchesMs = 100;

/** All Computes that there are. A busy API server may be late, and a new CRD has no storage for a moment. */
async function list(transport: ClusterTransport, signal: AbortSignal): Promise<z.infer<typeof List>> {
  const ask = async () => {
    if (signal.aborted) return { metadata: { resourceVersion: "" }, items: [] };
    const { status, body } = await transport.request({ method: "GET", path }, { signal, timeoutMs: 10_000 });
    if (status !== 200) throw new Error(`GET ${path}: ${status}`);
    return List.parse(body);
  };
  return eventually("the list of all Computes", ask, { timeoutMs: patienceMs, everyMs: 200 });
}

const List = z.object({ metadata: z.object({ resourceVersion: z.string() }), items: z.array(z.unknown()) });
const Item = z.object({ metadata: z.object({ namespace: z.string(), name: z.string(), resourceVersion: z.string() }) });
