import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../../src/operator/kube/kubeconfig.ts";
import { createOperator } from "../../../src/operator/operator.ts";
import { INSTALL_NAMESPACE } from "../../../src/operator/resources/names.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.ts";
import { crdsServed } from "../../control-plane/crds.ts";
import { type KubectlOptions, kubectl, runKubectl } from "../../control-plane/kubectl.ts";
import { realClock } from "../../support/real-clock.ts";
import { keySecret, manifest } from "./manifests.ts";
import { type Host, Network } from "./network.ts";
import { quickClock } from "./quick-clock.ts";
import { goodKey, newService } from "./seeded-service.ts";

const operatorUser = {
  name: `system:serviceaccount:${INSTALL_NAMESPACE}:compute-operator`,
  groups: ["system:serviceaccounts"],
};

/**
 * One control plane with the operator as it is installed, for the whole cluster, an administrator, and a tenant who is
 * admin of the namespace `mallory`.
 */
export class TenantStage {
  readonly admin: KubectlOptions;
  readonly log: string[] = [];
  readonly host: Host;
  readonly #tenant: KubectlOptions;
  readonly #controlPlane: ControlPlane;
  readonly #network = new Network();
  readonly #operatorFile: string;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(controlPlane: ControlPlane, tenantFile: string, operatorFile: string) {
    this.#controlPlane = controlPlane;
    this.#operatorFile = operatorFile;
    this.admin = { kubeconfig: controlPlane.kubeconfig, kubectl: controlPlane.binaries.kubectl };
    this.#tenant = { ...this.admin, kubeconfig: tenantFile };
    this.host = this.#network.connect("service.test", newService({}));
  }

  /** `policies`: those of deploy/base that are applied. */
  static async start(policies: readonly string[] = ["access-labels"]): Promise<TenantStage> {
    const controlPlane = await startControlPlane();
    await controlPlane.startControllerManager();
    const tenantFile = await controlPlane.kubeconfigFor({ name: "mallory" });
    const stage = new TenantStage(controlPlane, tenantFile, await controlPlane.kubeconfigFor(operatorUser));
    const { admin } = stage;
    for (const directory of ["crds", ...["shared", ...policies].map((one) => `deploy/base/${one}`)]) {
      await kubectl(["apply", "-k", directory], admin);
    }
    await crdsServed(admin);
    await stage.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "mallory" } });
    await stage.apply(inNamespace(keySecret(goodKey, "fleet-key"), INSTALL_NAMESPACE));
    const isTenant = ["--clusterrole=admin", "--user=mallory", "-n", "mallory"];
    await kubectl(["create", "rolebinding", "tenant", ...isTenant], admin);
    stage.startOperator();
    return stage;
  }

  startOperator(): void {
    this.#stop = new AbortController();
    const connection = loadKubeConfig({ file: this.#operatorFile, env: {} });
    const transport = new HttpTransport({ connection, clock: realClock, userAgent: "test" });
    const clock = quickClock(5);
    const destination = { write: (line: string) => void this.log.push(line) };
    const operator = createOperator(
      {
        clusterTransport: transport,
        serviceTransport: this.#network,
        clock,
        random: Math.random,
        log: createLogger({ level: "info", clock, destination }),
      },
      {
        namespaces: [],
        clusterResourceNamespace: INSTALL_NAMESPACE,
        selects: () => true,
        workers: 16,
        allowedBaseURLs: ["http://*.test/api/v2"],
        createSettleMs: 15_000,
        maxDeletesPerMinute: 1000,
        budgetShare: 1,
        drainMs: 5000,
      },
    );
    const { signal } = this.#stop;
    const run = async () => {
      await operator.run(signal);
      await transport.close();
    };
    this.#running = run();
  }

  /** Ends the operator as its process ends. */
  async stopOperator(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async stop(): Promise<void> {
    await this.stopOperator();
    await this.#controlPlane.stop();
  }

  /** A kubeconfig for another person. */
  kubeconfigFor(user: { name: string; groups?: string[] }): Promise<string> {
    return this.#controlPlane.kubeconfigFor(user);
  }

  /** Applies objects as the administrator. */
  async apply(...items: object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await kubectl(["apply", "-f", "-"], { ...this.admin, input });
  }

  async ready(namespace: string, name: string): Promise<void> {
    try {
      await kubectl(["wait", `compute/${name}`, "-n", namespace, "--for=condition=Ready", "--timeout=60s"], this.admin);
    } catch (error) {
      throw new Error(`${namespace}/${name} is not ready; the operator wrote:\n${this.log.slice(-20).join("\n")}`, {
        cause: error,
      });
    }
  }

  /** The message of the condition Ready. */
  said(namespace: string, name: string): Promise<string> {
    const path = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}';
    return kubectl(["get", "compute", name, "-n", namespace, "-o", path], this.admin);
  }

  /** What the API server answers the tenant. */
  tried(args: readonly string[], input?: object) {
    return runKubectl(args, { ...this.#tenant, ...(input === undefined ? {} : { input: JSON.stringify(input) }) });
  }
}

/** A ClusterServiceConnection to the service, whose Secret is `fleet-key`. */
export function fleet(namespaceSelector: object, name = "fleet") {
  return {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ClusterServiceConnection",
    metadata: { name },
    spec: {
      baseURL: "http://service.test/api/v2",
      apiKeySecretRef: { name: "fleet-key" },
      refreshInterval: "5s",
      namespaceSelector,
      allowedProjects: ["shop"],
    },
  };
}

/** A Compute that names it. */
export function fleetCompute(name: string, namespace: string, spec: Record<string, unknown> = {}) {
  const connectionRef = { kind: "ClusterServiceConnection", name: "fleet" };
  return inNamespace(manifest(name, { connectionRef, ...spec }), namespace);
}

export function inNamespace<T extends { metadata: object }>(object: T, namespace: string) {
  return { ...object, metadata: { ...object.metadata, namespace } };
}
