import { z } from "zod";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { type Access, listOf, runKubectl } from "../control-plane/kubectl.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import type { ProgramResult } from "../support/run-program.ts";
import { defaultBranch, type Project, seedOf } from "./manifests.ts";
import { connectedNamespace, ProcessStage, type StageParts } from "./process-stage.ts";

export interface WorldOptions {
  /** The control plane that it lives on: shared by the run, or the test's own. */
  cluster: Access;
  /** The user that the operator logs in as; the one who may do everything where left out. */
  operatorKubeconfig?: string;
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
export class World extends ProcessStage {
  /** Stands between operator and service. */
  readonly counter: CountingProxy;

  static async start(options: WorldOptions): Promise<World> {
    const { cluster, projects = [{ id: "shop", branches: ["br-main", "br-preview"] }] } = options;
    await using stack = new AsyncDisposableStack();
    const service = stack.use(await ServiceProcess.start({ seed: seedOf(projects) }));
    const counter = stack.use(await CountingProxy.start(service));
    const { baseURL } = counter;
    const namespace = await connectedNamespace("e2e", cluster, { baseURL, spec: options.connection });
    const operator = stack.use(
      await OperatorProcess.start({
        kubeconfig: options.operatorKubeconfig ?? cluster.kubeconfig,
        namespaces: [namespace],
        args: options.operatorArgs,
      }),
    );
    return new World({ cluster, namespace, service, operator }, counter, stack.move());
  }

  private constructor(parts: StageParts, counter: CountingProxy, everything: AsyncDisposable) {
    super(parts, everything);
    this.counter = counter;
  }

  /** Applies objects that may be refused. */
  tryApply(...objects: object[]): Promise<ProgramResult> {
    return runKubectl(["--namespace", this.namespace, "apply", "-f", "-"], { ...this.cluster, input: listOf(objects) });
  }

  /** Waits until the object's condition Ready has this reason, e.g. `("compute/shop", "Active")`. */
  async waitForReason(object: string, reason: string, timeoutSeconds = 60): Promise<void> {
    await this.waitFor(object, `jsonpath={.status.conditions[?(@.type=="Ready")].reason}=${reason}`, timeoutSeconds);
  }

  /** Waits until the field at this path has this value, e.g. `("compute/shop", "{.status.size}", "2 CU")`. */
  async waitForField(object: string, path: string, value: string, timeoutSeconds = 60): Promise<void> {
    await this.waitFor(object, `jsonpath=${path}=${value}`, timeoutSeconds);
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
}
