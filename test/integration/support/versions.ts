import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { type Compute, parseCompute } from "../../../src/operator/resources/compute.ts";

/** How long is waited for what a test expects, in milliseconds. */
const patienceMs = 90_000;

/** Every version of every Compute that the API server has had, as a watch of the test's own delivers them. */
export class Versions {
  readonly #stop = new AbortController();
  readonly #known = new Map<string, Compute[]>();
  readonly #gone = new Set<string>();
  readonly #listeners = new Set<() => void>();

  /** Resolves when all that happens from now on will be seen. */
  readonly begun: Promise<void>;

  constructor(transport: HttpTransport) {
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
      const timer = setTimeout(() => {
        finish();
        const last = newest();
        const shown = last === undefined ? "is not there" : JSON.stringify(last);
        reject(new Error(`${place} does not come to ${what}. It ${shown}`));
      }, patienceMs);
      const finish = () => {
        clearTimeout(timer);
        this.#listeners.delete(check);
      };
      this.#listeners.add(check);
      check();
    });
  }

  stop(): void {
    this.#stop.abort();
  }

  async #follow(transport: HttpTransport, begun: PromiseWithResolvers<void>): Promise<void> {
    const path = "/apis/compute-operator.dev/v1alpha1/computes";
    const { signal } = this.#stop;
    try {
      const resourceVersion = await now(transport, path, signal);
      begun.resolve();
      const watch = { path, query: { watch: "true", timeoutSeconds: "3600", resourceVersion } };
      for await (const { type, object } of transport.watch(watch, { signal, idleTimeoutMs: 3_600_000 })) {
        this.#take(type, object);
      }
    } catch (error) {
      if (signal.aborted) return;
      begun.reject(error);
      throw error;
    }
  }

  #take(type: string, object: unknown): void {
    const parsed = parseCompute(object);
    if (!parsed.ok) return;
    const { namespace = "", name } = parsed.value.metadata;
    const place = `${namespace}/${name}`;
    if (type === "DELETED") this.#gone.add(place);
    else {
      this.#gone.delete(place);
      this.#known.set(place, [...(this.#known.get(place) ?? []), parsed.value]);
    }
    for (const listener of this.#listeners) listener();
  }
}

/** The resourceVersion that stands now. A busy API server may be late, and a new CRD has no storage for a moment. */
async function now(transport: HttpTransport, path: string, signal: AbortSignal): Promise<string> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const asked = transport.request({ method: "GET", path }, { signal, timeoutMs: 10_000 });
    const answer = await asked.catch((error: unknown) => {
      if (signal.aborted || performance.now() > deadline) throw error;
      return undefined;
    });
    if (answer?.status === 200) return EndpointSnapshot.parse(answer.body).metadata.resourceVersion;
    if (answer !== undefined && answer.status !== 429) throw new Error(`GET ${path}: ${answer.status}`);
    await sleep(answer?.retryAfterMs ?? 200);
  }
}

const EndpointSnapshot = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
