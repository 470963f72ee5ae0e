import { randomBytes } from "node:crypto";
import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../../src/operator/kube/kubeconfig.ts";
import { createOperator, type Operator, type OperatorSettings } from "../../../src/operator/operator.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { kubeconfig } from "../../control-plane/shared-control-plane.ts";
import { realClock } from "../../support/real-clock.ts";
import { Cluster } from "./cluster-admin.ts";
import { readyTooSoon } from "./kstatus.ts";
import { Network } from "./network.ts";
import { quickClock } from "./quick-clock.ts";
import { Scenario, type ScenarioOptions } from "./scenario.ts";
import { Versions } from "./versions.ts";

/** How much faster than life the operator's timers run: a refresh interval of 5 s is over in one. */
export const speed = 5;

/** How many namespaces the scenarios of one stage may have: all are passed to the operator when it starts. */
const mostNamespaces = 20;

export interface StageOptions extends Partial<OperatorSettings> {
  /** Of the control plane; the one that the run shares where left out. */
  kubeconfig?: string;
}

/**
 * The operator in this process, over the real API server, quick timers and services in the same process: many
 * scenarios at once, each with a namespace and a service of its own. The operator watches only these namespaces, so
 * that several stages share a control plane. At its end a stage checks every version that any Compute has had: none may
 * have been Ready for a generation that was not carried out.
 */
export class Stage implements AsyncDisposable {
  readonly network = new Network();
  readonly versions: Versions;
  readonly cluster: Cluster;
  /** What the operator wrote to its log. */
  readonly log: string[] = [];
  readonly #transport: HttpTransport;
  readonly #settings: OperatorSettings;
  readonly #scenarios: Scenario[] = [];
  readonly #hosts = `${randomBytes(3).toString("hex")}.test`;
  readonly #unused = Array.from({ length: mostNamespaces }, () => `compute-${randomBytes(4).toString("hex")}`);
  #stop = new AbortController();
  #operator: Operator | undefined;
  #running: Promise<void>;

  constructor({ kubeconfig: file = kubeconfig(), ...settings }: StageOptions = {}) {
    const connection = loadKubeConfig({ file, env: {} });
    const options = { connection, clock: realClock, userAgent: "compute-operator/test" };
    this.#transport = new HttpTransport(options);
    this.cluster = new Cluster(this.#transport);
    this.versions = new Versions(this.#transport, () => `The operator wrote last: ${this.log.slice(-5).join("")}`);
    this.#settings = {
      namespaces: [...this.#unused],
      selects: () => true,
      workers: 32,
      allowedBaseURLs: [`http://*.${this.#hosts}/api/v2`],
      createSettleMs: 15_000,
      maxDeletesPerMinute: 1000,
      budgetShare: 1,
      drainMs: 5000,
      ...settings,
    };
    this.#running = this.#run();
  }

  /** A namespace with a service of its own and a connection to it. */
  async scenario(options: ScenarioOptions = {}): Promise<Scenario> {
    await this.versions.begun;
    const { cluster, versions, network } = this;
    const around = { cluster, versions, network, hosts: this.#hosts, newNamespace: () => this.#newNamespace() };
    const scenario = new Scenario(around, options);
    this.#scenarios.push(scenario);
    await scenario.begin();
    return scenario;
  }

  /** Ends the operator as its process ends, and starts another that knows nothing of the first. */
  async restartOperator(): Promise<void> {
    await this.stopOperator();
    this.startOperator();
  }

  async stopOperator(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  startOperator(): void {
    this.#stop = new AbortController();
    this.#running = this.#run();
  }

  /** What a scrape of the operator's metrics answers now. */
  async scrape(): Promise<string> {
    return (await this.#operator?.metrics.text()) ?? "";
  }

  #newNamespace(): string {
    const namespace = this.#unused.pop();
    if (namespace === undefined) throw new Error(`a stage has ${mostNamespaces} namespaces: raise mostNamespaces`);
    return namespace;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOperator();
    this.versions.stop();
    await Promise.all(this.#scenarios.map((scenario) => scenario.end()));
    await this.#transport.close();
    // The control plane is shared: what others left on it in their own namespaces is not the operator's doing.
    const ours = new Set(this.#scenarios.map(({ namespace }) => namespace));
    const wrong = readyTooSoon(
      this.versions.all.map((history) => history.filter(({ metadata }) => ours.has(metadata.namespace ?? ""))),
    );
    if (wrong.length > 0) throw new Error(`Ready for what was not carried out: ${wrong.join("; ")}`);
  }

  #run(): Promise<void> {
    const clock = quickClock(speed);
    const destination = { write: (line: string) => void this.log.push(line) };
    const ports = {
      clusterTransport: this.#transport,
      serviceTransport: this.network,
      clock,
      random: Math.random,
      log: createLogger({ level: "info", clock, destination }),
    };
    this.#operator = createOperator(ports, this.#settings);
    return this.#operator.run(this.#stop.signal);
  }
}
