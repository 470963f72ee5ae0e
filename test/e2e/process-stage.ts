import { type Access, apply, createNamespace, kubectl } from "../control-plane/kubectl.ts";
import type { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { connection, goodKey, keySecret } from "./manifests.ts";

export interface ConnectionOptions {
  baseURL: string;
  /** In the Secret; the organization's where left out. */
  key?: string;
  /** Further fields of the connection's spec. */
  spec?: Record<string, unknown> | undefined;
}

/** Gives a namespace the connection `default`, and the Secret with its key. */
export async function connect(
  namespace: string,
  cluster: Access,
  { baseURL, key = goodKey, spec = {} }: ConnectionOptions,
): Promise<void> {
  await apply([keySecret(key), connection(baseURL, spec)], cluster, ["--namespace", namespace]);
}

/** A new namespace with such a connection; its name begins with `prefix`. */
export async function connectedNamespace(prefix: string, cluster: Access, options: ConnectionOptions): Promise<string> {
  const namespace = await createNamespace(prefix, cluster);
  await connect(namespace, cluster, options);
  return namespace;
}

export interface StageParts {
  cluster: Access;
  namespace: string;
  service: ServiceProcess;
  operator: OperatorProcess;
}

/** Service and operator as processes over a real API server, and the namespace that the operator looks after. */
export abstract class ProcessStage implements AsyncDisposable {
  readonly namespace: string;
  readonly service: ServiceProcess;
  readonly operator: OperatorProcess;
  protected readonly cluster: Access;
  readonly #everything: AsyncDisposable;

  /** `everything`: ends all processes of the stage, with the stage. */
  protected constructor({ cluster, namespace, service, operator }: StageParts, everything: AsyncDisposable) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.service = service;
    this.operator = operator;
    this.#everything = everything;
  }

  /** Runs kubectl in the stage's namespace. */
  kubectl(...args: string[]): Promise<string> {
    return kubectl(["--namespace", this.namespace, ...args], this.cluster);
  }

  /** Applies objects in the stage's namespace. */
  async apply(...objects: object[]): Promise<void> {
    await apply(objects, this.cluster, ["--namespace", this.namespace]);
  }

  /** Waits until the object is Ready at its present generation. */
  async waitForReady(object: string, timeoutSeconds = 60): Promise<void> {
    await this.waitFor(object, "condition=Ready", timeoutSeconds);
  }

  /** `kubectl wait`; an error says what the object and the operator's log show. */
  protected async waitFor(object: string, condition: string, timeoutSeconds: number): Promise<void> {
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#everything[Symbol.asyncDispose]();
  }
}
