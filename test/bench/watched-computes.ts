import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { isReady } from "../support/is-ready.ts";
import { type WatchEvent, watchObjects } from "../support/watch.ts";

const watched = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), generation: z.number() }),
  status: z
    .object({
      endpointID: z.string().optional(),
      observedGeneration: z.number().optional(),
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    })
    .optional(),
});

/** When each thing became known about one Compute, in milliseconds of `performance.now`. */
export interface Moments {
  uid: string;
  addedAt: number;
  /** When the status first named the endpoint. */
  linkedAt?: number;
  /** The last generation that was Ready, and since when. */
  ready?: { generation: number; at: number };
}

/** The Computes of a namespace as an independent watch sees them. */
export class WatchedComputes implements Disposable {
  /** By name. */
  readonly moments = new Map<string, Moments>();
  /** How many have been Ready. */
  ready = 0;
  readonly #kubeconfig: string;
  readonly #path: string;
  #stop = () => {};
  #stopped = false;

  static async start(kubeconfig: string, namespace: string): Promise<WatchedComputes> {
    const computes = new WatchedComputes(kubeconfig, namespace);
    await computes.#watch();
    return computes;
  }

  private constructor(kubeconfig: string, namespace: string) {
    this.#kubeconfig = kubeconfig;
    this.#path = `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/computes`;
  }

  /** Waits until so many have been Ready. */
  async allReady(count: number, timeoutMs: number): Promise<void> {
    await eventually(`${count} Computes to be Ready`, () => this.ready >= count || undefined, {
      timeoutMs,
      everyMs: 25,
    }).catch((error: unknown) => {
      throw new Error(`${this.ready} of ${count} Computes are Ready`, { cause: error });
    });
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
    this.#stop();
  }

  /** A watch begins with all that there is, so that one which ended misses nothing. */
  async #watch(): Promise<void> {
    const again = () => {
      if (!this.#stopped) void this.#watch();
    };
    // A definition that was just installed is served a moment later.
    const watch = await eventually("the watch", () =>
      watchObjects(this.#kubeconfig, this.#path, (event) => this.#seen(event), again),
    );
    this.#stop = watch.stop;
  }

  #seen({ at, object }: WatchEvent): void {
    const compute = watched.parse(object);
    const { name, uid, generation } = compute.metadata;
    const moments = this.moments.get(name) ?? { uid, addedAt: at };
    this.moments.set(name, moments);
    if (compute.status?.endpointID !== undefined) moments.linkedAt ??= at;
    if (!isReady(compute)) return;
    if (moments.ready === undefined) this.ready += 1;
    if (moments.ready?.generation !== generation) moments.ready = { generation, at };
  }
}
