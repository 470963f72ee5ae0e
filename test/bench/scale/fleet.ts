import { z } from "zod";
import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { kubectl, listOf } from "../../control-plane/kubectl.ts";
import { compute, type Project } from "../../e2e/manifests.ts";
import { connect } from "../../e2e/process-stage.ts";
import { eventually } from "../../support/eventually.ts";
import { type WatchEvent, watchObjects } from "../../support/watch.ts";

/** How many Computes there are, and in how many projects. */
export interface FleetSize {
  computes: number;
  projects: number;
}

export const namespace = "fleet";

/** Tells the Computes of two shards apart. */
export const shardLabel = "bench-shard";

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

/** A fleet of Computes on a control plane, as an independent watch sees it. */
export class Fleet {
  readonly moments = new Map<string, Moments>();
  readonly #size: FleetSize;
  readonly #controlPlane: ControlPlane;
  #stop = () => {};
  #stopped = false;
  #readyAtFirst = 0;

  constructor(size: FleetSize, controlPlane: ControlPlane) {
    this.#size = size;
    this.#controlPlane = controlPlane;
  }

  /** The projects that the service must have: one branch for each Compute. */
  static projectsFor({ computes, projects }: FleetSize): Project[] {
    return Array.from({ length: projects }, (_, project) => ({
      id: `project-${project}`,
      branches: Array.from({ length: Math.ceil(computes / projects) }, (__, branch) => `br-${project}-${branch}`),
    }));
  }

  /** Makes namespace and connection, and begins to watch. */
  async prepare(baseURL: string, limits: "raised" | "public"): Promise<void> {
    await this.kubectl(["create", "namespace", namespace]);
    const budget = limits === "raised" ? { requestBudget: { perMinute: 60_000, burst: 4000 } } : {};
    await connect(namespace, this.#controlPlane.admin, { baseURL, spec: { refreshInterval: "30s", ...budget } });
    await this.#watch();
  }

  /** A watch begins with all that there is, so that one which ended misses nothing. */
  async #watch(): Promise<void> {
    const path = `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/computes`;
    const { kubeconfig } = this.#controlPlane;
    const again = () => {
      if (!this.#stopped) void this.#watch();
    };
    // A definition that was just installed is served a moment later.
    const watch = await eventually("the watch", () =>
      watchObjects(kubeconfig, path, (event) => this.#seen(event), again),
    );
    this.#stop = watch.stop;
  }

  /** Creates all Computes with kubectl, as a person would; answers when kubectl had ended. */
  async create(): Promise<{ began: number; ended: number }> {
    const { computes, projects } = this.#size;
    const declared = Array.from({ length: computes }, (_, index) => ({
      ...compute(`compute-${index}`, {
        projectID: `project-${index % projects}`,
        branchID: `br-${index % projects}-${Math.floor(index / projects)}`,
        type: "read_write",
        computeUnits: { min: 0.25, max: 2 },
        // A service whose operations take 50 ms suspends after half a minute otherwise.
        scaleToZero: { enabled: false },
      }),
      metadata: { name: `compute-${index}`, labels: { [shardLabel]: String(index % 2) } },
    }));
    const began = performance.now();
    await this.#create(declared);
    return { began, ended: performance.now() };
  }

  /** Resolves with the moment at which the last Compute became Ready; rejects where some never do. */
  async allReady(timeoutMs: number): Promise<number> {
    const { computes } = this.#size;
    await eventually(`${computes} Computes to be Ready`, () => this.#readyAtFirst >= computes || undefined, {
      timeoutMs,
      everyMs: 25,
    }).catch((error: unknown) => {
      throw new Error(`${this.#readyAtFirst} of ${computes} Computes are Ready`, { cause: error });
    });
    return Math.max(...[...this.moments.values()].map(({ ready }) => ready?.at ?? 0));
  }

  get ready(): number {
    return this.#readyAtFirst;
  }

  /** Changes the size of one Compute; answers its uid. */
  async resize(name: string, max: number): Promise<string> {
    const spec = { computeUnits: { min: 0.25, max } };
    await this.kubectl([
      "--namespace",
      namespace,
      "patch",
      "compute",
      name,
      "--type=merge",
      "-p",
      JSON.stringify({ spec }),
    ]);
    return this.moments.get(name)?.uid ?? "";
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return kubectl(args, { ...this.#controlPlane.admin, ...(input !== undefined && { input }) });
  }

  stop(): void {
    this.#stopped = true;
    this.#stop();
  }

  async #create(items: readonly object[]): Promise<void> {
    await this.kubectl(["--namespace", namespace, "create", "--validate=false", "-f", "-"], listOf(items));
  }

  #seen({ at, object }: WatchEvent): void {
    const { metadata, status } = watched.parse(object);
    const { name, uid, generation } = metadata;
    const moments = this.moments.get(name) ?? { uid, addedAt: at };
    this.moments.set(name, moments);
    if (status?.endpointID !== undefined) moments.linkedAt ??= at;
    const isReady = status?.conditions.some((condition) => condition.type === "Ready" && condition.status === "True");
    if (isReady !== true || status?.observedGeneration !== generation) return;
    if (moments.ready === undefined) this.#readyAtFirst += 1;
    if (moments.ready?.generation !== generation) moments.ready = { generation, at };
  }
}
