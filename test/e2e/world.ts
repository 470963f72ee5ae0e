import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { kubectl, runKubectl } from "../control-plane/kubectl.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import type { ProgramResult } from "../support/run-program.ts";
import { connection, defaultBranch, goodKey, keySecret, type Project, seedOf } from "./manifests.ts";

/** The control plane that a world lives on: shared by the run, or the test's own. */
export interface Cluster {
  kubeconfig: string;
  /** Path of the binary. */
  kubectl: string;
  /** Whom the operator logs in as; the one who may do everything where left out. */
  operatorKubeconfig?: string;
}

export interface WorldOptions {
  cluster: Cluster;
  projects?: readonly Project[];
  /** Further flags of the operator. */
  operatorArgs?: readonly string[];
  /** Fields of the ServiceConnection's spec. */
  connection?: Record<string, unknown>;
}

/** A Compute as far as the tests look. */
const observedCompute = z.object({
  metadata: z.object({ uid: z.string(), annotations: z.record(z.string(), z.string()).default({}) }),
  status: z.object({
    endpointID: z.string().optional(),
    size: z.string().optional(),
    state: z.string().optional(),
    conditions: z.array(z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() })),
  }),
});
export type ObservedCompute = z.infer<typeof observedCompute>;

/** The whole system, each program as a process of its own, and a namespace with a working connection. */
export class World implements AsyncDisposable {
  readonly namespace: string;
  readonly service: ServiceProcess;
  /** Stands between operator and service. */
  readonly counter: CountingProxy;
  readonly operator: OperatorProcess;
  readonly #cluster: Cluster;
  readonly #everything: AsyncDisposableStack;

  static async start(options: WorldOptions): Promise<World> {
    const { cluster, projects = [{ id: "shop", branches: ["br-main", "br-preview"] }] } = options;
    await using stack = new AsyncDisposableStack();
    const service = stack.use(await ServiceProcess.start({ seed: seedOf(projects) }));
    const counter = stack.use(await CountingProxy.start(service));
    const namespace = `e2e-${randomBytes(4).toString("hex")}`;
    await kubectl(["create", "namespace", namespace], cluster);
    const operator = stack.use(
      await OperatorProcess.start({
        kubeconfig: cluster.operatorKubeconfig ?? cluster.kubeconfig,
        allowedBaseURLs: ["http://127.0.0.1:*/api/v2"],
        namespaces: [namespace],
        args: options.operatorArgs ?? [],
      }),
    );
    const world = new World(cluster, namespace, service, counter, operator, stack.move());
    await world.apply(keySecret(goodKey), connection(counter.baseURL, options.connection));
    return world;
  }

  private constructor(
    cluster: Cluster,
    namespace: string,
    service: ServiceProcess,
    counter: CountingProxy,
    operator: OperatorProcess,
    everything: AsyncDisposableStack,
  ) {
    this.#cluster = cluster;
    this.namespace = namespace;
    this.service = service;
    this.counter = counter;
    this.operator = operator;
    this.#everything = everything;
  }

  /** Runs kubectl in the world's namespace. */
  kubectl(...args: string[]): Promise<string> {
    return kubectl(["--namespace", this.namespace, ...args], this.#cluster);
  }

  /** Applies objects in the world's namespace. */
  async apply(...objects: object[]): Promise<void> {
    await kubectl(["--namespace", this.namespace, "apply", "-f", "-"], { ...this.#cluster, input: list(objects) });
  }

  /** Applies objects that may be refused. */
  tryApply(...objects: object[]): Promise<ProgramResult> {
    return runKubectl(["--namespace", this.namespace, "apply", "-f", "-"], { ...this.#cluster, input: list(objects) });
  }

  /** Waits until the object's condition Ready has this reason, e.g. `("compute/shop", "Active")`. */
  async waitForReason(object: string, reason: string, timeoutSeconds = 60): Promise<void> {
    await this.#waitFor(object, `jsonpath={.status.conditions[?(@.type=="Ready")].reason}=${reason}`, timeoutSeconds);
  }

  /** Waits until the object is Ready at its present generation. */
  async waitForReady(object: string, timeoutSeconds = 60): Promise<void> {
    await this.#waitFor(object, "condition=Ready", timeoutSeconds);
  }

  /** Waits until the field at this path has this value, e.g. `("compute/shop", "{.status.size}", "2 CU")`. */
  async waitForField(object: string, path: string, value: string, timeoutSeconds = 60): Promise<void> {
    await this.#waitFor(object, `jsonpath=${path}=${value}`, timeoutSeconds);
  }

  /** The Compute as the API server has it. */
  async compute(name: string): Promise<ObservedCompute> {
    return observedCompute.parse(JSON.parse(await this.kubectl("get", "compute", name, "-o", "json")));
  }

  /** The endpoints of the project `shop`, without the default branch's own. */
  async endpoints(): Promise<Endpoint[]> {
    const endpoints = await this.service.endpoints("shop");
    return endpoints.filter(({ branch_id }) => !branch_id.startsWith(defaultBranch));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#everything.disposeAsync();
  }

  async #waitFor(object: string, condition: string, timeoutSeconds: number): Promise<void> {
    try {
      await this.kubectl("wait", object, `--for=${condition}`, `--timeout=${timeoutSeconds}s`);
    } catch (error) {
      const found = await this.kubectl("get", object, "-o", "yaml").catch(String);
      const log = this.operator.child.tail(25);
      throw new Error(`${object} does not come to ${condition}.\n${found}\nThe operator wrote:\n${log}`, {
        cause: error,
      });
    }
  }
}

function list(items: readonly object[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}
