import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { kubectl, listOf } from "../../control-plane/kubectl.ts";
import { compute, type Project } from "../../e2e/manifests.ts";
import { connect } from "../../e2e/process-stage.ts";
import { type Moments, WatchedComputes } from "../watched-computes.ts";

/** How many Computes there are, and in how many projects. */
export interface FleetSize {
  computes: number;
  projects: number;
}

export const namespace = "fleet";

/** Tells the Computes of two shards apart. */
export const shardLabel = "bench-shard";

/** A fleet of Computes on a control plane, as an independent watch sees it. */
export class Fleet {
  readonly #size: FleetSize;
  readonly #controlPlane: ControlPlane;
  #watched: WatchedComputes | undefined;

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
    this.#watched = await WatchedComputes.start(this.#controlPlane.kubeconfig, namespace);
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
    await this.#watched?.allReady(this.#size.computes, timeoutMs);
    return Math.max(...[...this.moments.values()].map(({ ready }) => ready?.at ?? 0));
  }

  /** How many have been Ready. */
  get ready(): number {
    return this.#watched?.ready ?? 0;
  }

  /** By name; empty before the watch begins. */
  get moments(): ReadonlyMap<string, Moments> {
    return this.#watched?.moments ?? new Map();
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
    this.#watched?.[Symbol.dispose]();
  }

  async #create(items: readonly object[]): Promise<void> {
    await this.kubectl(["--namespace", namespace, "create", "--validate=false", "-f", "-"], listOf(items));
  }
}
