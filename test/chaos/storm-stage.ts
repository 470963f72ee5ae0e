import type { StoredEndpoint } from "../../src/service/store/endpoints.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { connect } from "../e2e/process-stage.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { ServiceProcess } from "../support/processes.ts";
import { plantLedger, readEndpoints } from "./endpoint-history.ts";
import { type Fleet, fleetOf } from "./fleet.ts";
import { StormOperator } from "./operators.ts";
import { PatientCluster } from "./patient-cluster.ts";
import { seedOf } from "./seed.ts";

export interface StageOptions {
  /** How many Computes the fleets have together. */
  computes: number;
  /** `--create-settle` of the operators, in seconds. */
  createSettleSeconds: number;
  /** Of the connections, e.g. `5s`. */
  refreshInterval: string;
}

const flags = ["--max-deletes-per-minute=6000", "--log-level=debug"];

/** How many times faster than life the service's operations run. */
const timeScale = 5;

/** The real parts of a storm: API server, etcd and service, a proxy before it, and operators, each a process. */
export class StormStage implements AsyncDisposable {
  readonly fleets: readonly Fleet[];
  readonly controlPlane: ControlPlane;
  readonly service: ServiceProcess;
  readonly proxy: CountingProxy;
  readonly cluster: PatientCluster;
  /** Of the first fleet: it leads without a lease. */
  readonly singleOperator: StormOperator;
  /** Of the second fleet: they compete for a lease. */
  readonly electedOperators: readonly [StormOperator, StormOperator];
  /** Endpoints that no Compute owns. */
  readonly strangers: readonly StoredEndpoint[];
  readonly #everything: AsyncDisposable;

  static async start(options: StageOptions): Promise<StormStage> {
    await using stack = new AsyncDisposableStack();
    const half = Math.ceil(options.computes / 2);
    const fleets = [fleetOf("alpha", half), fleetOf("beta", options.computes - half)] as const;
    const controlPlane = stack.use(await startWithCrds());
    const service = stack.use(await ServiceProcess.start({ seed: seedOf(fleets), timeScale, args: ["--faults"] }));
    await service.kill();
    const strangers = readEndpoints(service.dataFile, projectsOf(fleets));
    plantLedger(service.dataFile);
    await service.start();
    const proxy = stack.use(await CountingProxy.start(service));
    const cluster = stack.use(new PatientCluster(controlPlane.kubeconfig));
    for (const { namespace, key } of fleets) {
      await kubectl(["create", "namespace", namespace], controlPlane.admin);
      const spec = { refreshInterval: options.refreshInterval };
      await connect(namespace, controlPlane.admin, { baseURL: proxy.baseURL, key, spec });
    }
    const start = async ({ namespace }: Fleet, ...args: string[]) =>
      stack.use(
        await StormOperator.start({
          kubeconfig: await controlPlane.kubeconfigFor({ name: operatorUser, groups: ["system:masters"] }),
          namespaces: [namespace],
          args: [`--create-settle=${options.createSettleSeconds}s`, ...flags, ...args],
        }),
      );
    const [first, second] = fleets;
    const singleOperator = await start(first);
    const elected = ["--leader-elect", "--lease-namespace", second.namespace];
    const electedOperators = [await start(second, ...elected), await start(second, ...elected)] as const;
    const parts = { fleets, controlPlane, service, proxy, cluster, singleOperator, electedOperators, strangers };
    return new StormStage(parts, stack.move());
  }

  private constructor(parts: StageParts, everything: AsyncDisposable) {
    this.fleets = parts.fleets;
    this.controlPlane = parts.controlPlane;
    this.service = parts.service;
    this.proxy = parts.proxy;
    this.cluster = parts.cluster;
    this.singleOperator = parts.singleOperator;
    this.electedOperators = parts.electedOperators;
    this.strangers = parts.strangers;
    this.#everything = everything;
  }

  get operators(): readonly StormOperator[] {
    return [this.singleOperator, ...this.electedOperators];
  }

  get projects(): readonly string[] {
    return projectsOf(this.fleets);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#everything[Symbol.asyncDispose]();
  }
}

type StageParts = Pick<
  StormStage,
  "fleets" | "controlPlane" | "service" | "proxy" | "cluster" | "singleOperator" | "electedOperators" | "strangers"
>;

/** Whom all operators log in as. */
export const operatorUser = "the-operator";

function projectsOf(fleets: readonly Fleet[]): string[] {
  return fleets.flatMap(({ projects }) => projects);
}
