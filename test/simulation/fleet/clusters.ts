import { type Endpoint, EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { createOperator, type Operator, type OperatorSettings } from "../../../src/operator/operator.ts";
import { type Compute, parseCompute } from "../../../src/operator/resources/compute.ts";
import type { Logger } from "../../../src/operator/runtime/log.ts";
import type { ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import { connectNamespace, inMemorySettings, wholeMilliseconds } from "../../integration/support/in-memory.ts";
import { manifest } from "../../integration/support/manifests.ts";
import { type Host, Network } from "../../integration/support/network.ts";
import { goodKey, newService, type SeededService } from "../../integration/support/seeded-service.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { type ClusterWeather, calm } from "../api-server/faults.ts";
import type { JsonObject } from "../api-server/objects.ts";
import { underShippedRights } from "../api-server/rights.ts";
import { ApiServer } from "../api-server/server.ts";
import { InMemoryClusterTransport } from "../api-server/transport.ts";
import { seededRandom } from "../random.ts";

const group = "/apis/compute-operator.dev/v1alpha1";

export interface ClusterOptions extends Partial<OperatorSettings> {
  /** What lies between the operator and the service. */
  way?: (inner: ServiceTransport) => ServiceTransport;
  weather?: ClusterWeather;
  log?: Logger;
}

/** One service, and the clusters whose operators reach it, one after another or side by side, on one driven clock. */
export class Clusters implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly network = new Network();
  readonly host: Host;
  readonly #clusters: Cluster[] = [];
  #seed: number;

  constructor({ seed = 1, ...seeded }: Pick<SeededService, "branches" | "projects"> & { seed?: number } = {}) {
    this.#seed = seed;
    this.host = this.connect("service.test", seeded);
  }

  /** Has a service answer under `http://<name>/api/v2`. */
  connect(name: string, seeded: Pick<SeededService, "branches" | "projects"> = {}): Host {
    const service = { timeScale: 10_000 };
    return this.network.connect(name, newService({ ...seeded, clock: wholeMilliseconds(this.clock), service }));
  }

  /** A new control plane with an operator. */
  cluster(options: ClusterOptions = {}): Cluster {
    const cluster = new Cluster(this, this.#seed++, options);
    this.#clusters.push(cluster);
    return cluster;
  }

  get endpoints(): Endpoint[] {
    return EndpointsAnswer.parse(this.console("GET", "/projects/shop/endpoints")).endpoints;
  }

  /** What operators did at the service: method, id of the endpoint and body. */
  get writes(): { method: string; id: string; body: unknown }[] {
    return this.host.calls
      .filter(({ method, path }) => method !== "GET" && path.includes("/endpoints"))
      .map(({ method, path, body }) => ({ method, id: /ep-[^/]+/.exec(path)?.[0] ?? "", body }));
  }

  /** A call of a person's; answers the body. */
  console(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${goodKey}` };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const reply = this.host.service.call({ method, path: `/api/v2${path}`, headers, ...text });
    if (reply.status >= 300) throw new Error(`the service answers ${reply.status} to ${method} ${path}: ${reply.body}`);
    return JSON.parse(reply.body ?? "{}");
  }

  /** Lets time pass until something holds. */
  async until(what: string, holds: () => boolean, mostSeconds = 600): Promise<void> {
    for (let waited = 0; !holds() && waited < mostSeconds; waited += 1) await this.clock.advance(1000);
    if (holds()) return;
    const shown = this.#clusters.flatMap((cluster) => cluster.computes().map(inWords));
    throw new Error(`not within ${mostSeconds} s: ${what}\n${shown.join("\n")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cluster of this.#clusters) await cluster.stop();
  }
}

/** One control plane, and one operator over it. */
export class Cluster {
  readonly server: ApiServer;
  readonly #world: Clusters;
  readonly #options: ClusterOptions;
  readonly #random: () => number;
  #stop = new AbortController();
  #operator: Operator | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(world: Clusters, seed: number, options: ClusterOptions) {
    this.#world = world;
    this.#options = options;
    const random = seededRandom(seed * 7919);
    this.#random = random;
    this.server = new ApiServer({ clock: world.clock, random, controllerManager: true });
    installCRDs(this.server, ["computes", "serviceconnections", "computepools", "branches"]);
    this.namespace("shop");
    this.start();
  }

  /** A namespace with a connection to the service. */
  namespace(name: string): void {
    this.send("POST", "/api/v1/namespaces", { metadata: { name } });
    connectNamespace(name, (path, body) => this.send("POST", path, body));
  }

  start(settings: Partial<OperatorSettings> = {}): void {
    const { way, weather = calm, log = silentLogger, ...rest } = this.#options;
    const { clock, network } = this.#world;
    this.#stop = new AbortController();
    this.#operator = createOperator(
      {
        clusterTransport: new InMemoryClusterTransport(underShippedRights(this.server), clock, weather),
        serviceTransport: way === undefined ? network : way(network),
        clock,
        random: this.#random,
        log,
      },
      { ...inMemorySettings, ...rest, ...settings },
    );
    this.#running = this.#operator.run(this.#stop.signal);
  }

  /** Ends the operator; with it the cluster is gone as far as the service can tell. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#world.clock.advance(10_000);
    await this.#running;
    this.#operator = undefined;
  }

  send(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown) {
    const answer = this.server.handle({ method, path, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return JSON.parse(JSON.stringify(answer.body));
  }

  /** `kubectl apply` of a Compute. */
  apply(name: string, spec: JsonObject, namespace = "shop"): void {
    const path = `${group}/namespaces/${namespace}/computes`;
    const found = this.server.handle({ method: "GET", path: `${path}/${name}` });
    if (found.status === 404) this.send("POST", path, manifest(name, spec));
    else {
      const before = this.send("GET", `${path}/${name}`);
      this.send("PUT", `${path}/${name}`, { ...before, spec: manifest(name, spec)["spec"] });
    }
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

  /** Of all namespaces. */
  computes(): Compute[] {
    return this.send("GET", `${group}/computes`).items.map(readCompute);
  }

  compute(name: string, namespace = "shop"): Compute {
    return readCompute(this.send("GET", `${group}/namespaces/${namespace}/computes/${name}`));
  }

  find(name: string, namespace = "shop"): Compute | undefined {
    return this.computes().find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
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
    const { items }: { items: { type: string; reason: string; message: string }[] } = this.send(
      "GET",
      `/api/v1/namespaces/${namespace}/events`,
    );
    return items.map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  }

  /** What a scrape of the operator shows. */
  async scrape(): Promise<string> {
    return (await this.#operator?.metrics.text()) ?? "";
  }

  async metric(name: string): Promise<number> {
    return Number(new RegExp(`^compute_operator_${name} (.*)$`, "m").exec(await this.scrape())?.[1]);
  }
}

export function saidBy({ status }: Compute): string {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return `${ready?.reason}: ${ready?.message}`;
}

export function isReady({ status, metadata }: Compute): boolean {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && status.observedGeneration === metadata.generation;
}

function inWords(compute: Compute): string {
  return `${compute.metadata.namespace}/${compute.metadata.name}: ${saidBy(compute)}`;
}

function readCompute(item: unknown): Compute {
  const parsed = parseCompute(item);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}
