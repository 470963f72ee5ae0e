import { type Endpoint, EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { createOperator, type OperatorSettings } from "../../../src/operator/operator.ts";
import { type Compute, parseCompute } from "../../../src/operator/resources/compute.ts";
import { type ClusterWeather, calm } from "../../simulation/api-server/faults.ts";
import { Refusal } from "../../simulation/api-server/refusal.ts";
import { underShippedRights } from "../../simulation/api-server/rights.ts";
import { ApiServer } from "../../simulation/api-server/server.ts";
import { type ApiFront, InMemoryClusterTransport } from "../../simulation/api-server/transport.ts";
import { seededRandom } from "../../simulation/random.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { inMemorySettings, wholeMilliseconds } from "./in-memory.ts";
import { type Host, Network } from "./network.ts";
import { isReady } from "./scenario.ts";
import { goodKey, newService, project, type SeededService } from "./seeded-service.ts";

const group = "/apis/compute-operator.dev/v1alpha1";
const definitions = ["computes", "serviceconnections", "clusterserviceconnections", "computepools", "branches"];

export interface ClusterWorldOptions {
  branches?: readonly string[];
  projects?: SeededService["projects"];
  /** Ids of read replicas that the service has from the start. */
  replicas?: readonly string[];
  settings?: Partial<OperatorSettings>;
  /** Of the account at the service. */
  plan?: SeededService["plan"];
  /** How the service behaves. */
  service?: SeededService["service"];
  /** Kinds whose CRD is not installed. */
  without?: readonly string[];
  /** What the operator may do at the API server; what is shipped where left out. */
  rights?: (server: ApiServer) => ApiFront;
  /** Between operator and API server. */
  weather?: ClusterWeather;
  /** Of the ClusterServiceConnection's spec. */
  connection?: Record<string, unknown>;
}

/** Namespace of the operator, and of the Secrets of ClusterServiceConnections. */
export const ownNamespace = "compute-operator-system";

/** Several namespaces and one ClusterServiceConnection `fleet` to one service, on a driven clock. */
export class ClusterWorld implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly network = new Network();
  readonly server: ApiServer;
  readonly host: Host;
  readonly #options: ClusterWorldOptions;
  readonly #random = seededRandom(7);
  #stop = new AbortController();
  #running: Promise<void>;

  constructor(options: ClusterWorldOptions = {}) {
    this.#options = options;
    const { clock } = this;
    const { without = [], branches = [], projects = [], replicas = [], plan, service: behaviour = {} } = options;
    this.server = new ApiServer({ clock, random: this.#random, controllerManager: true });
    const service = newService({
      branches,
      projects,
      endpoints: replicas.map((id) => ({ id, branchID: "br-main", type: "read_only" })),
      clock: wholeMilliseconds(clock),
      service: { timeScale: 10_000, ...behaviour },
      ...(plan !== undefined && { plan }),
    });
    this.host = this.network.connect("service.test", service);
    for (const name of definitions.filter((one) => !without.includes(one))) this.install(name);
    this.namespace(ownNamespace);
    this.key();
    if (!without.includes("clusterserviceconnections")) this.connect(options.connection);
    this.#running = this.#run();
  }

  #run(): Promise<void> {
    const { clock } = this;
    const { rights = underShippedRights, weather = calm, settings } = this.#options;
    const operator = createOperator(
      {
        clusterTransport: new InMemoryClusterTransport(rights(this.server), clock, weather),
        serviceTransport: this.network,
        clock,
        random: this.#random,
        log: silentLogger,
      },
      { ...inMemorySettings, clusterResourceNamespace: ownNamespace, ...settings },
    );
    return operator.run(this.#stop.signal);
  }

  /** Ends the operator, does something, and starts another that knows nothing of the first. */
  async restart(meanwhile: () => void = () => {}): Promise<void> {
    await this[Symbol.asyncDispose]();
    meanwhile();
    this.#stop = new AbortController();
    this.#running = this.#run();
  }

  /** Installs a CRD. */
  install(name: string): void {
    installCRDs(this.server, [name]);
  }

  /** A Secret with a key, that of the connection unless another is named. */
  key(key = goodKey, name = "fleet-key"): void {
    this.send("POST", `/api/v1/namespaces/${ownNamespace}/secrets`, {
      metadata: { name },
      type: "compute-operator.dev/api-key",
      data: { "api-key": Buffer.from(key).toString("base64") },
    });
  }

  connect(spec: Record<string, unknown> = {}, name = "fleet"): void {
    this.send("POST", `${group}/clusterserviceconnections`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ClusterServiceConnection",
      metadata: { name },
      spec: {
        baseURL: "http://service.test/api/v2",
        apiKeySecretRef: { name: "fleet-key" },
        requestBudget: { perMinute: 100_000, burst: 1000 },
        namespaceSelector: { matchLabels: { fleet: "yes" } },
        allowedProjects: [project],
        ...spec,
      },
    });
  }

  namespace(name: string, labels: Record<string, string> = {}): void {
    this.send("POST", "/api/v1/namespaces", { metadata: { name, labels } });
  }

  /** Gives the namespace these labels and no others. */
  label(name: string, labels: Record<string, string>): void {
    const path = `/api/v1/namespaces/${name}`;
    const found = this.send("GET", path);
    this.send("PUT", path, { ...found, metadata: { ...found.metadata, labels } });
  }

  declare(namespace: string, name: string, spec: Record<string, unknown> = {}): void {
    this.send("POST", `${group}/namespaces/${namespace}/computes`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Compute",
      metadata: { name },
      spec: {
        projectID: project,
        branchID: "br-main",
        connectionRef: { kind: "ClusterServiceConnection", name: "fleet" },
        ...spec,
      },
    });
  }

  edit(namespace: string, name: string, spec: Record<string, unknown>): void {
    const path = `${group}/namespaces/${namespace}/computes/${name}`;
    const found = this.send("GET", path);
    this.send("PUT", path, { ...found, spec: { ...found.spec, ...spec } });
  }

  /** Sets an annotation of ours. */
  setAnnotation(namespace: string, name: string, annotation: string, value: string): void {
    const path = `${group}/namespaces/${namespace}/computes/${name}`;
    const found = this.send("GET", path);
    const annotations = { ...found.metadata.annotations, [`compute-operator.dev/${annotation}`]: value };
    this.send("PUT", path, { ...found, metadata: { ...found.metadata, annotations } });
  }

  remove(namespace: string, name: string): void {
    this.send("DELETE", `${group}/namespaces/${namespace}/computes/${name}`);
  }

  find(path: string) {
    const answer = this.server.handle({ method: "GET", path });
    return answer.status === 404 ? undefined : JSON.parse(JSON.stringify(answer.body));
  }

  compute(namespace: string, name: string): Compute {
    const parsed = parseCompute(this.send("GET", `${group}/namespaces/${namespace}/computes/${name}`));
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.value;
  }

  isGone(namespace: string, name: string): boolean {
    return this.find(`${group}/namespaces/${namespace}/computes/${name}`) === undefined;
  }

  connection(name = "fleet") {
    return this.find(`${group}/clusterserviceconnections/${name}`);
  }

  /** Reason and message of its condition Ready. */
  said(namespace: string, name: string): string {
    const { reason, message } = this.compute(namespace, name).status.conditions?.find(
      ({ type }) => type === "Ready",
    ) ?? {
      reason: "none",
      message: "",
    };
    return `${reason}: ${message}`;
  }

  /** Reason and message of the connection's condition Ready. */
  connectionSaid(name = "fleet"): string {
    const conditions: { type: string; reason: string; message: string }[] =
      this.connection(name)?.status?.conditions ?? [];
    const ready = conditions.filter(({ type }) => type === "Ready");
    return ready.map(({ reason, message }) => `${reason}: ${message}`).join();
  }

  async ready(namespace: string, name: string): Promise<void> {
    await this.until(`${namespace}/${name} ready`, () => isReady(this.compute(namespace, name)));
  }

  /** Lets time pass until it is so, ten minutes at most. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    for (let waited = 0; !isSo() && waited < 600; waited += 1) await this.clock.advance(1000);
    if (!isSo()) throw new Error(`it never came to: ${what}`);
  }

  send(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown) {
    const sent: unknown = body === undefined ? undefined : JSON.parse(JSON.stringify(body));
    const answer = this.server.handle({ method, path, body: sent });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return JSON.parse(JSON.stringify(answer.body));
  }

  /** What the operator did at the service. */
  get writes(): string[] {
    return this.host.calls.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
  }

  get endpoints(): Endpoint[] {
    const headers = { authorization: `Bearer ${goodKey}` };
    const reply = this.host.service.call({ method: "GET", path: `/api/v2/projects/${project}/endpoints`, headers });
    return EndpointsAnswer.parse(JSON.parse(reply.body ?? "{}")).endpoints;
  }

  /** What is in flight has its time to end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const state = { isOver: false };
    const end = this.#running.finally(() => {
      state.isOver = true;
    });
    for (let waited = 0; !state.isOver && waited < 120; waited += 1) await this.clock.advance(1000);
    await end;
  }
}

/** What the connection `fleet` selects. */
export const selected = { fleet: "yes" };

/** The rights of the overlay cluster-connections-only: to Secrets of the operator's own namespace alone. */
export function secretsOfOwnNamespace(server: ApiServer): ApiFront {
  const refused = (path: string) =>
    /\/secrets(\/|$)/.test(path) && !path.includes(`/namespaces/${ownNamespace}/`)
      ? new Refusal(403, "Forbidden", "the operator has no right to this").toResponse()
      : undefined;
  return {
    store: server.store,
    handle: (request, asOf) => refused(request.path) ?? server.handle(request, asOf),
    watch: (path, query, sink) => refused(path) ?? server.watch(path, query, sink),
  };
}

/** A world with the namespace `shop`, which the connection selects, and a Compute `db` there that is ready. */
export async function worldOfShop(options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const world = new ClusterWorld(options);
  world.namespace("shop", selected);
  world.declare("shop", "db");
  await world.ready("shop", "db");
  return world;
}
