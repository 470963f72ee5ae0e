import { readFileSync } from "node:fs";
import { z } from "zod";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "../control-plane/control-plane.ts";
import { crdsServed } from "../control-plane/crds.ts";
import { apply, kubectl, replace } from "../control-plane/kubectl.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { type ServiceOptions, ServiceProcess } from "../support/processes.ts";
import { Image } from "./image.ts";
import { InstalledOperator } from "./installed.ts";
import { installNamespace, kustomize, type Rendered } from "./render.ts";

type InstallationOptions = ServiceOptions & Pick<ControlPlaneOptions, "host">;

/** An empty control plane, the service, with the samples' seed unless another is given, and the operator of deploy/. */
export class Installation implements AsyncDisposable {
  readonly cluster: ControlPlane;
  readonly service: ServiceProcess;
  /** Stands between operator and service. */
  readonly counter: CountingProxy;
  readonly #image = new Image();
  #operator: InstalledOperator | undefined;

  static async start({ host, ...options }: InstallationOptions = {}): Promise<Installation> {
    const seed = readFileSync("deploy/samples/service-seed.yaml", "utf8");
    const [cluster, service] = await Promise.all([
      startControlPlane(host === undefined ? {} : { host }),
      ServiceProcess.start({ seed, timeScale: 20, ...options }),
    ]);
    await cluster.startControllerManager();
    return new Installation(cluster, service, await CountingProxy.start(service));
  }

  private constructor(cluster: ControlPlane, service: ServiceProcess, counter: CountingProxy) {
    this.cluster = cluster;
    this.service = service;
    this.counter = counter;
  }

  get operator(): InstalledOperator {
    if (this.#operator === undefined) throw new Error("the operator has not been installed");
    return this.#operator;
  }

  kubectl(...args: string[]): Promise<string> {
    return kubectl(args, this.cluster.admin);
  }

  /** Resolves once all CRDs of the cluster are served. */
  definitionsServed(): Promise<void> {
    return crdsServed(this.cluster.admin);
  }

  /** Applies a directory of deploy/ and starts the operator as its Deployment would, with its ServiceAccount. */
  async install(directory: string, namespace = installNamespace): Promise<void> {
    await this.kubectl("apply", "-k", directory);
    await this.startOperator(await this.#rendered(directory), namespace);
  }

  /** Starts the operator as the Deployment among `objects` would, once they have been applied. */
  async startOperator(objects: readonly Rendered[], namespace = installNamespace): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    await this.definitionsServed();
    const place = { controlPlane: this.cluster, image: this.#image, objects, namespace };
    this.#operator = await InstalledOperator.start(place);
    await this.#operator.ready();
  }

  /** Applies the samples, with a connection to this service. */
  async applySamples(): Promise<void> {
    const connected = { baseURL: this.counter.baseURL, refreshInterval: "5s" };
    const items = (await this.#rendered("deploy/samples")).map((object) =>
      object.kind === "ServiceConnection" ? { ...object, spec: { ...specOf(object), ...connected } } : object,
    );
    await this.apply(...items);
  }

  /** Applies objects, as `kubectl apply -f` does. */
  async apply(...items: object[]): Promise<void> {
    await apply(items, this.cluster.admin);
  }

  /** `kubectl replace`, which drops what the object has besides. */
  async replace(item: object): Promise<void> {
    await replace(item, [], this.cluster.admin);
  }

  /** Waits until each of the objects in the samples' namespace is Ready. */
  async ready(...objects: string[]): Promise<void> {
    await this.kubectl("-n", "shop", "wait", "--for=condition=Ready", "--timeout=60s", ...objects);
  }

  /** Waits until all of the samples is Ready, so that nothing of it is still to be written at the service. */
  async samplesReady(): Promise<void> {
    const computes = ["shop-primary", "shop-preview", "shop-reports"].map((name) => `compute/${name}`);
    await this.ready(...computes, "computepool/shop-readers", "branch/pr-42");
  }

  /** The ids of the endpoints that the service has, sorted. */
  async endpoints(): Promise<string[]> {
    return (await this.service.endpoints("shiny-wind-028834")).map(({ id }) => id).toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    await Promise.all([this.cluster.stop(), this.counter[Symbol.asyncDispose](), this.service[Symbol.asyncDispose]()]);
    this.#image[Symbol.dispose]();
  }

  #rendered(directory: string): Promise<Rendered[]> {
    return kustomize(directory, (args) => this.kubectl(...args));
  }
}

function specOf(object: Rendered): Record<string, unknown> {
  return z.record(z.string(), z.unknown()).parse(object["spec"]);
}
