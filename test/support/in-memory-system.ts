import { type Endpoint, EndpointsAnswer } from "../../src/api/endpoint.ts";
import {
  createOperator,
  type Operator,
  type OperatorPorts,
  type OperatorSettings,
} from "../../src/operator/operator.ts";
import { type Compute, parseCompute } from "../../src/operator/resources/compute.ts";
import { inMemorySettings, wholeMilliseconds } from "../integration/support/in-memory.ts";
import { type Host, Network } from "../integration/support/network.ts";
import { goodKey, newService, type SeededService } from "../integration/support/seeded-service.ts";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { underShippedRights } from "../simulation/api-server/rights.ts";
import { ApiServer } from "../simulation/api-server/server.ts";
import { type ApiFront, InMemoryClusterTransport } from "../simulation/api-server/transport.ts";
import { installCRDs, shippedKinds } from "./shipped-crd.ts";
import { silentLogger } from "./silent-logger.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** The API group of the operator's kinds. */
export const group = "/apis/compute-operator.dev/v1alpha1";

export interface InMemoryClusterOptions
  extends Pick<OperatorPorts, "serviceTransport" | "random">,
    Partial<Pick<OperatorPorts, "log" | "tracer">> {
  clock: VirtualClock;
  /** Kinds whose CRD is installed from the start. */
  definitions?: readonly string[];
  /** The garbage collector and the namespace controller run beside the API server. */
  controllerManager?: boolean;
  /** What the operator may do at the API server; what is shipped where left out. */
  rights?: (server: ApiServer) => ApiFront;
  /** What lies between operator and API server. */
  weather?: ClusterWeather;
  settings?: Partial<OperatorSettings>;
}

/** A control plane in memory on a driven clock, and one operator over it at a time. */
export class InMemoryCluster implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly server: ApiServer;
  readonly #options: InMemoryClusterOptions;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #operator: Operator | undefined;

  constructor(options: InMemoryClusterOptions) {
    const { clock, random, controllerManager = false, definitions = shippedKinds } = options;
    this.#options = options;
    this.clock = clock;
    this.server = new ApiServer({ clock, random, controllerManager });
    for (const name of definitions) this.install(name);
  }

  /** Installs a CRD. */
  install(name: string): void {
    installCRDs(this.server, [name]);
  }

  /** Starts an operator that knows nothing of an earlier one. */
  start(settings: Partial<OperatorSettings> = {}): void {
    const { clock, random, serviceTransport, rights = underShippedRights, weather = calm } = this.#options;
    const { log = silentLogger, tracer } = this.#options;
    const clusterTransport = new InMemoryClusterTransport(rights(this.server), clock, weather);
    this.#stop = new AbortController();
    this.#operator = createOperator(
      { clusterTransport, serviceTransport, clock, random, log, tracer },
      { ...inMemorySettings, ...this.#options.settings, ...settings },
    );
    this.#running = this.#operator.run(this.#stop.signal);
  }

  /** Ends the operator as its process ends: requests in flight have two minutes. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const end = { isOver: false };
    const over = this.#running.finally(() => {
      end.isOver = true;
    });
    await this.clock.advance(10_000);
    for (let waited = 10; !end.isOver && waited < 120; waited += 1) await this.clock.advance(1000);
    await over;
    this.#operator = undefined;
  }

  /** Ends the operator, does something, and starts another. */
  async restart(meanwhile: () => void = () => {}): Promise<void> {
    await this.stop();
    meanwhile();
    this.start();
  }

  /** A request of a person, which the API server must not refuse; answers the body. */
  send(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown) {
    const sent: unknown = body === undefined ? undefined : JSON.parse(JSON.stringify(body));
    const answer = this.server.handle({ method, path, body: sent });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body).slice(0, 500)}`);
    return JSON.parse(JSON.stringify(answer.body));
  }

  /** The object, where there is one. */
  find(path: string) {
    const answer = this.server.handle({ method: "GET", path });
    return answer.status === 404 ? undefined : JSON.parse(JSON.stringify(answer.body));
  }

  /** Of one namespace, or of all. */
  computes(namespace?: string): Compute[] {
    const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
    return this.send("GET", `${group}${within}/computes`).items.map(readCompute);
  }

  computeOf(namespace: string, name: string): Compute {
    return readCompute(this.send("GET", `${group}/namespaces/${namespace}/computes/${name}`));
  }

  eventsOf(namespace: string): { type: string; reason: string; message: string; count?: number }[] {
    return this.send("GET", `/api/v1/namespaces/${namespace}/events`).items;
  }

  /** A scrape of the operator that runs now. */
  async metrics(): Promise<string> {
    return (await this.#operator?.metrics.text()) ?? "";
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Services in this process on one driven clock; operators reach them through one network. */
export class InMemoryServices {
  readonly clock: VirtualClock;
  readonly network = new Network();
  /** The one that connections lead to unless they say otherwise. */
  readonly host: Host;

  constructor(clock: VirtualClock, seeded: Omit<SeededService, "clock"> = {}) {
    this.clock = clock;
    this.host = this.connect("service.test", seeded);
  }

  /** Has a service answer under `http://<name>/api/v2`. What may suspend does so within a minute. */
  connect(name: string, { service, ...seeded }: Omit<SeededService, "clock"> = {}): Host {
    const clock = wholeMilliseconds(this.clock);
    return this.network.connect(name, newService({ ...seeded, clock, service: { timeScale: 10_000, ...service } }));
  }

  /** A call of a person's, outside the operator, also one of the service's own; answers the body. */
  console(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${goodKey}` };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const local = path.startsWith("/_") ? path : `/api/v2${path}`;
    const reply = this.host.service.call({ method, path: local, headers, ...text });
    if (reply.status >= 300) throw new Error(`the service answers ${reply.status} to ${method} ${path}: ${reply.body}`);
    return JSON.parse(reply.body ?? "{}");
  }

  /** Of the project `shop`. */
  get endpoints(): Endpoint[] {
    return EndpointsAnswer.parse(this.console("GET", "/projects/shop/endpoints")).endpoints;
  }

  /** What operators did at the service, as `METHOD path`. */
  get writes(): string[] {
    return this.host.calls.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
  }
}

export interface InMemorySystemOptions extends Omit<InMemoryClusterOptions, "clock" | "serviceTransport"> {
  service?: Omit<SeededService, "clock">;
  clock?: VirtualClock;
}

/** The whole system in this process on a driven clock: API server in memory, operator, service. */
export class InMemorySystem extends InMemoryCluster {
  readonly services: InMemoryServices;

  constructor({ service, clock = new VirtualClock(), ...options }: InMemorySystemOptions) {
    const services = new InMemoryServices(clock, service);
    super({ ...options, clock, serviceTransport: services.network });
    this.services = services;
  }

  get network(): Network {
    return this.services.network;
  }

  get host(): Host {
    return this.services.host;
  }

  console(method: string, path: string, body?: unknown) {
    return this.services.console(method, path, body);
  }

  get endpoints(): Endpoint[] {
    return this.services.endpoints;
  }

  get writes(): string[] {
    return this.services.writes;
  }
}

/** Lets time pass until something holds, ten minutes at most. `shown`: what a failure names. */
export async function untilSo(
  clock: VirtualClock,
  what: string,
  isSo: () => boolean,
  { mostSeconds = 600, shown = () => [] }: { mostSeconds?: number; shown?: () => readonly string[] } = {},
): Promise<void> {
  for (let waited = 0; !isSo() && waited < mostSeconds; waited += 1) await clock.advance(1000);
  if (!isSo()) throw new Error([`not within ${mostSeconds} s: ${what}`, ...shown()].join("\n"));
}

function readCompute(item: unknown): Compute {
  const parsed = parseCompute(item);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}
