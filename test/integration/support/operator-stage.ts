import { randomBytes } from "node:crypto";
import type { OperatorSettings } from "../../../src/operator/operator.ts";
import { kubeconfig } from "../../control-plane/shared-control-plane.ts";
import { Cluster } from "./cluster-admin.ts";
import { InProcessOperator } from "./in-process-operator.ts";
import { readyTooSoon } from "./kstatus.ts";
import { Network } from "./network.ts";
import { Scenario, type ScenarioOptions } from "./scenario.ts";
import { Versions } from "./versions.ts";

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
  readonly #operator: InProcessOperator;
  readonly #scenarios: Scenario[] = [];
  readonly #hosts = `${randomBytes(3).toString("hex")}.test`;
  readonly #unused = Array.from({ length: mostNamespaces }, () => `compute-${randomBytes(4).toString("hex")}`);

  constructor({ kubeconfig: file = kubeconfig(), ...settings }: StageOptions = {}) {
    this.#operator = new InProcessOperator({
      kubeconfig: file,
      serviceTransport: this.network,
      settings: {
        namespaces: [...this.#unused],
        workers: 32,
        allowedBaseURLs: [`http://*.${this.#hosts}/api/v2`],
        ...settings,
      },
    });
    this.#operator.start();
    const { transport } = this.#operator;
    this.cluster = new Cluster(transport);
    this.versions = new Versions(transport, () => `The operator wrote last: ${this.log.slice(-5).join("")}`);
  }

  /** The lines that the operator wrote to its log. */
  get log(): readonly string[] {
    return this.#operator.log;
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

  stopOperator(): Promise<void> {
    return this.#operator.stop();
  }

  startOperator(): void {
    this.#operator.start();
  }

  /** What a scrape of the operator's metrics answers now. */
  scrape(): Promise<string> {
    return this.#operator.metrics();
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
    await this.#operator.transport.close();
    // The control plane is shared: what others left on it in their own namespaces is not the operator's doing.
    const ours = new Set(this.#scenarios.map(({ namespace }) => namespace));
    const wrong = readyTooSoon(
      this.versions.all.map((history) => history.filter(({ metadata }) => ours.has(metadata.namespace ?? ""))),
    );
    if (wrong.length > 0) throw new Error(`Ready for what was not carried out: ${wrong.join("; ")}`);
  }
}
