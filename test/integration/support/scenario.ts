import { randomBytes } from "node:crypto";
import { type Endpoint, EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import type { Fault } from "../../../src/service/http/faults.ts";
import type { Service } from "../../../src/service/service.ts";
import { replace } from "../../control-plane/shared-control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { isReady } from "../../support/is-ready.ts";
import type { Cluster, Kind, Raw } from "./cluster-admin.ts";
import { keySecret, manifest } from "./manifests.ts";
import type { Call, Host, Network } from "./network.ts";
import { consoleKey, goodKey, newService, project, type SeededService } from "./seeded-service.ts";
import type { Versions } from "./versions.ts";

export interface ScenarioOptions extends SeededService {
  /** Fields of the ServiceConnection's spec. */
  connection?: Record<string, unknown>;
}

interface Surroundings {
  cluster: Cluster;
  versions: Versions;
  network: Network;
  /** The name of a namespace that the operator watches, and nobody else has. */
  newNamespace: () => string;
  /** What the names of its services end in. */
  hosts: string;
}

/** One namespace, a service of its own, and what a test does to both. */
export class Scenario {
  readonly namespace: string;
  readonly cluster: Cluster;
  readonly #around: Surroundings;
  readonly #options: ScenarioOptions;
  readonly #namespaces: string[] = [];
  #host: Host;
  baseURL: string;

  constructor(around: Surroundings, options: ScenarioOptions) {
    this.#around = around;
    this.#options = options;
    this.namespace = around.newNamespace();
    this.cluster = around.cluster;
    const name = `${this.namespace}.${around.hosts}`;
    this.baseURL = `http://${name}/api/v2`;
    this.#host = around.network.connect(name, newService(options));
  }

  async begin(): Promise<void> {
    await this.addNamespace(this.namespace);
  }

  /** Another namespace with a connection to the same service. */
  async addNamespace(name = this.#around.newNamespace()): Promise<string> {
    await this.cluster.createNamespace(name);
    this.#namespaces.push(name);
    await this.cluster.create("Secret", name, keySecret(goodKey));
    await this.cluster.create("ServiceConnection", name, this.connection());
    return name;
  }

  connection(spec: Record<string, unknown> = {}, name = "default"): Raw {
    const fields = { baseURL: this.baseURL, apiKeySecretRef: { name: "service-api-key" }, refreshInterval: "5s" };
    return {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ServiceConnection",
      metadata: { name },
      spec: { ...fields, ...this.#options.connection, ...spec },
    };
  }

  /** Another service, empty or not, that the operator may be sent to; answers its base URL. */
  addService(options: ScenarioOptions): { baseURL: string; host: Host } {
    const name = `${randomBytes(4).toString("hex")}.${this.#around.hosts}`;
    return { baseURL: `http://${name}/api/v2`, host: this.#around.network.connect(name, newService(options)) };
  }

  get service(): Service {
    return this.#host.service;
  }

  /** All that the operator asked of the service. */
  get calls(): Call[] {
    return this.#host.calls;
  }

  /** Its writes, but for those refused as busy (423): with them it finds out how many operations a project runs. */
  get writeCalls(): Call[] {
    return this.calls.filter(({ method, status }) => method !== "GET" && status !== 423);
  }

  /** The same in words: `PATCH /projects/shop/endpoints/ep-x`. */
  get writes(): string[] {
    return this.writeCalls.map(({ method, path }) => `${method} ${path}`);
  }

  /** Forgets all calls so far. */
  clearCalls(): void {
    this.calls.length = 0;
  }

  faults(...faults: (Pick<Fault, "kind"> & Partial<Fault>)[]): void {
    this.service.setFaults(faults.map((fault) => ({ method: "*", route: "*", ...fault })));
  }

  /** What stands before the service. */
  get host(): Host {
    return this.#host;
  }

  /** A call of somebody else's, behind the operator's back; answers the body. */
  console(method: string, path: string, body?: unknown, key = consoleKey) {
    const { pathname, searchParams } = new URL(path, "http://service");
    const reply = this.service.call({
      method,
      path: pathname.startsWith("/_") ? pathname : `/api/v2${pathname}`,
      query: Object.fromEntries(searchParams),
      headers: { authorization: `Bearer ${key}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (reply.status >= 300) throw new Error(`the service answers ${reply.status} to ${method} ${path}: ${reply.body}`);
    return JSON.parse(reply.body ?? "{}");
  }

  /** The project's computes, as the service itself shows them. */
  get endpoints(): Endpoint[] {
    return EndpointsAnswer.parse(this.console("GET", `/projects/${project}/endpoints`)).endpoints;
  }

  endpoint(id: string | undefined): Endpoint {
    const found = this.endpoints.find((endpoint) => endpoint.id === id);
    if (found === undefined) throw new Error(`the service has no endpoint ${id}`);
    return found;
  }

  /** Makes a Compute. */
  compute(name: string, spec: Record<string, unknown> = {}, metadata: Partial<Raw["metadata"]> = {}): Promise<Raw> {
    return this.computeIn(metadata.namespace ?? this.namespace, name, spec, metadata);
  }

  async computeIn(
    namespace: string,
    name: string,
    spec: Record<string, unknown>,
    metadata: Partial<Raw["metadata"]> = {},
  ) {
    return this.#seen(namespace, name, this.cluster.create("Compute", namespace, manifest(name, spec, metadata)));
  }

  /** Changes a Compute's spec: members that are undefined are taken out. */
  async edit(name: string, spec: Record<string, unknown>): Promise<void> {
    await this.#seen(this.namespace, name, this.cluster.edit("Compute", this.namespace, name, spec));
  }

  /** Sets an annotation of ours, or with undefined takes it away. */
  async annotate(name: string, annotation: string, value: string | undefined): Promise<void> {
    await this.#seen(this.namespace, name, this.cluster.annotate(this.namespace, name, annotation, value));
  }

  /** `kubectl replace` with the bare manifest; resolves when what tests go by no longer shows what was before. */
  async replace(name: string): Promise<void> {
    const replaced = replace(this.namespace, manifest(name));
    await this.#seen(
      this.namespace,
      name,
      replaced.then(() => this.cluster.get("Compute", this.namespace, name)),
    );
  }

  /** Puts another key into the Secret, and waits until the operator uses it: its watch of Secrets may be late. */
  async setKey(key: string, namespace = this.namespace): Promise<void> {
    const before = this.calls.length;
    const stored = Buffer.from(key).toString("base64");
    let isOld = false;
    await this.cluster.modify("Secret", namespace, "service-api-key", (secret) => {
      isOld = secret.data?.["api-key"] === stored;
      secret.data = { "api-key": stored };
    });
    const isUsed = () => this.calls.slice(before).some(({ authorization }) => authorization === `Bearer ${key}`);
    await eventually("a call with the new key", () => isOld || isUsed() || undefined);
  }

  async editConnection(spec: Record<string, unknown>, name = "default"): Promise<void> {
    await this.cluster.edit("ServiceConnection", this.namespace, name, spec);
  }

  /** Waits until the Compute is Ready for the spec that it has now. */
  ready(name: string, namespace = this.namespace): Promise<Compute> {
    return this.until(name, "Ready", isReady, namespace);
  }

  /** Waits until the Compute shows this reason for the spec that it has now. */
  reason(name: string, reason: string, namespace = this.namespace): Promise<Compute> {
    return this.until(name, `reason ${reason}`, (compute) => shows(compute, reason), namespace);
  }

  async until(
    name: string,
    what: string,
    isSo: (compute: Compute) => boolean,
    namespace = this.namespace,
  ): Promise<Compute> {
    const found = await this.#around.versions.until(
      namespace,
      name,
      what,
      (compute) => compute !== undefined && isSo(compute),
    );
    if (found === undefined) throw new Error(`${name} is gone`);
    return found;
  }

  async gone(name: string, namespace = this.namespace): Promise<void> {
    await this.#around.versions.until(namespace, name, "its end", (compute) => compute === undefined);
  }

  /** Every version that the Compute has had. */
  history(name: string, namespace = this.namespace): readonly Compute[] {
    return this.#around.versions.of(namespace, name);
  }

  /** Waits for an event with this reason and resolves with its message. */
  event(name: string, reason: string, namespace = this.namespace): Promise<string> {
    return eventually(`an event ${reason} of ${namespace}/${name}`, async () => {
      const events = await this.cluster.events(namespace, name);
      return events.find((event) => event.reason === reason)?.message;
    });
  }

  /** Waits until the operator has listed the project's endpoints so many times more. */
  async lists(count = 2): Promise<void> {
    const listed = () =>
      this.calls.filter(({ method, path }) => method === "GET" && path.endsWith("/endpoints")).length;
    const wanted = listed() + count;
    await eventually(`${count} more lists`, () => (listed() >= wanted ? true : undefined));
  }

  /** Takes everything away, whatever holds it. */
  async end(): Promise<void> {
    await Promise.all(this.#namespaces.map((namespace) => this.#empty(namespace)));
    this.service.close();
  }

  /** What was written is what tests go by from now on: waits until the watch has brought it too. */
  async #seen(namespace: string, name: string, write: Promise<Raw>): Promise<Raw> {
    const written = await write;
    const isAsNew = ({ metadata }: Compute) =>
      Number(metadata.resourceVersion) >= Number(written.metadata.resourceVersion);
    await this.#around.versions.until(namespace, name, "what was written", () =>
      this.history(name, namespace).some(isAsNew),
    );
    return written;
  }

  async #empty(namespace: string): Promise<void> {
    if (!(await this.cluster.namespaceExists(namespace))) return;
    for (const kind of ["Branch", "ComputePool", "Compute", "ServiceConnection", "Secret"] as const) {
      // In this order, so that no pool makes what was just taken away.
      const objects = await this.cluster.list(kind, namespace);
      await Promise.all(objects.map(({ metadata: { name } }) => this.#remove(kind, namespace, name)));
    }
    await this.cluster.deleteNamespace(namespace).catch(() => undefined);
  }

  /** Deleted before it is set free: no operator of another test can guard it again then, and its namespace goes. */
  async #remove(kind: Kind, namespace: string, name: string) {
    const free = (object: Raw) => {
      delete object.metadata.finalizers;
    };
    await this.cluster.delete(kind, namespace, name).catch(() => undefined);
    await this.cluster.modify(kind, namespace, name, free).catch(() => undefined);
  }
}

function shows(compute: Compute, reason: string): boolean {
  const ready = conditionOf(compute.status, "Ready");
  // A paused Compute's newer generations are not reconciled.
  return ready?.reason === reason && (reason === "Paused" || ready.observedGeneration === compute.metadata.generation);
}
