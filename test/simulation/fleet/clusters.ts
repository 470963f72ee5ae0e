import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { type OperatorSettings } from "../../../src/operator/operator.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import type { ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import { connectNamespace } from "../../integration/support/in-memory.ts";
import { manifest } from "../../integration/support/manifests.ts";
import type { SeededService } from "../../integration/support/seeded-service.ts";
import {
  group,
  InMemoryCluster,
  type InMemoryClusterOptions,
  InMemoryServices,
  untilSo,
} from "../../support/in-memory-system.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import type { JsonObject } from "../api-server/objects.ts";
import { seededRandom } from "../random.ts";

export interface ClusterOptions extends Partial<OperatorSettings>, Pick<InMemoryClusterOptions, "weather" | "log"> {
  /** What lies between the operator and the service. */
  way?: (inner: ServiceTransport) => ServiceTransport;
}

/** One service, and the clusters whose operators reach it, one after another or side by side, on one driven clock. */
export class Clusters extends InMemoryServices implements AsyncDisposable {
  readonly #clusters: Cluster[] = [];
  #seed: number;

  constructor({ seed = 1, ...seeded }: Pick<SeededService, "branches" | "projects"> & { seed?: number } = {}) {
    super(new VirtualClock(), seeded);
    this.#seed = seed;
  }

  /** A new control plane with an operator. */
  cluster(options: ClusterOptions = {}): Cluster {
    const cluster = new Cluster(this, this.#seed++, options);
    this.#clusters.push(cluster);
    return cluster;
  }

  /** What operators did at the service: method, id of the endpoint and body. */
  get endpointWrites(): { method: string; id: string; body: unknown }[] {
    return this.host.calls
      .filter(({ method, path }) => method !== "GET" && path.includes("/endpoints"))
      .map(({ method, path, body }) => ({ method, id: /ep-[^/]+/.exec(path)?.[0] ?? "", body }));
  }

  /** Lets time pass until something holds. */
  until(what: string, holds: () => boolean, mostSeconds = 600): Promise<void> {
    const shown = () => this.#clusters.flatMap((cluster) => cluster.computes().map(inWords));
    return untilSo(this.clock, what, holds, { mostSeconds, shown });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cluster of this.#clusters) await cluster.stop();
  }
}

/** One control plane, and one operator over it. */
export class Cluster extends InMemoryCluster {
  constructor({ clock, network }: Clusters, seed: number, { way, weather, log, ...settings }: ClusterOptions) {
    super({
      clock,
      random: seededRandom(seed * 7919),
      definitions: ["computes", "serviceconnections", "computepools", "branches"],
      controllerManager: true,
      serviceTransport: way === undefined ? network : way(network),
      settings,
      ...(weather !== undefined && { weather }),
      ...(log !== undefined && { log }),
    });
    this.namespace("shop");
    this.start();
  }

  /** A namespace with a connection to the service. */
  namespace(name: string): void {
    this.send("POST", "/api/v1/namespaces", { metadata: { name } });
    connectNamespace(name, (path, body) => this.send("POST", path, body));
  }

  /** `kubectl apply` of a Compute. */
  apply(name: string, spec: JsonObject, namespace = "shop"): void {
    const path = `${group}/namespaces/${namespace}/computes`;
    const found = this.find(`${path}/${name}`);
    if (found === undefined) this.send("POST", path, manifest(name, spec));
    else this.send("PUT", `${path}/${name}`, { ...found, spec: manifest(name, spec)["spec"] });
  }

  pool(name: string, spec: { replicas: number; adoptFormer?: boolean; template: JsonObject }): void {
    this.send("POST", `${group}/namespaces/shop/computepools`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ComputePool",
      metadata: { name },
      spec,
    });
  }

  remove(name: string, namespace = "shop"): void {
    this.send("DELETE", `${group}/namespaces/${namespace}/computes/${name}`);
  }

  compute(name: string, namespace = "shop"): Compute {
    return this.computeOf(namespace, name);
  }

  findCompute(name: string, namespace = "shop"): Compute | undefined {
    return this.computes(namespace).find(({ metadata }) => metadata.name === name);
  }

  /** The reason and message of its condition Ready. */
  said(name: string, namespace = "shop"): string {
    return saidBy(this.compute(name, namespace));
  }

  connectionStatus(namespace = "shop"): JsonObject {
    return this.send("GET", `${group}/namespaces/${namespace}/serviceconnections/default`).status;
  }

  /** Events as `Type Reason message`. */
  events(namespace = "shop"): string[] {
    return this.eventsOf(namespace).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  }

  async metric(name: string): Promise<number> {
    return Number(new RegExp(`^compute_operator_${name} (.*)$`, "m").exec(await this.metrics())?.[1]);
  }
}

export function saidBy({ status }: Compute): string {
  const ready = conditionOf(status, "Ready");
  return `${ready?.reason}: ${ready?.message}`;
}

function inWords(compute: Compute): string {
  return `${compute.metadata.namespace}/${compute.metadata.name}: ${saidBy(compute)}`;
}
