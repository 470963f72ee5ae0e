import { INSTALL_NAMESPACE } from "../../../src/operator/resources/names.ts";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.ts";
import { crdsServed } from "../../control-plane/crds.ts";
import { apply, type KubectlOptions, kubectl, runKubectl } from "../../control-plane/kubectl.ts";
import { InProcessOperator } from "./in-process-operator.ts";
import { keySecret, manifest } from "./manifests.ts";
import { type Host, Network } from "./network.ts";
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
  readonly host: Host;
  readonly #tenant: KubectlOptions;
  readonly #controlPlane: ControlPlane;
  readonly #network = new Network();
  readonly #operator: InProcessOperator;

  private constructor(controlPlane: ControlPlane, tenantFile: string, operatorFile: string) {
    this.#controlPlane = controlPlane;
    this.admin = controlPlane.admin;
    this.#tenant = { ...this.admin, kubeconfig: tenantFile };
    this.host = this.#network.connect("service.test", newService({}));
    const settings = { clusterResourceNamespace: INSTALL_NAMESPACE };
    this.#operator = new InProcessOperator({ kubeconfig: operatorFile, serviceTransport: this.#network, settings });
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
    this.#operator.start();
  }

  /** Ends the operator as its process ends. */
  stopOperator(): Promise<void> {
    return this.#operator.stop();
  }

  /** The lines that the operator wrote to its log. */
  get log(): readonly string[] {
    return this.#operator.log;
  }

  async stop(): Promise<void> {
    await this.#operator[Symbol.asyncDispose]();
    await this.#controlPlane.stop();
  }

  /** A kubeconfig for another person. */
  kubeconfigFor(user: { name: string; groups?: string[] }): Promise<string> {
    return this.#controlPlane.kubeconfigFor(user);
  }

  /** Applies objects as the administrator. */
  async apply(...items: object[]): Promise<void> {
    await apply(items, this.admin);
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
