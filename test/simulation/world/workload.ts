import type { ClusterRequest, ClusterResponse } from "../../../src/operator/kube/transport.ts";
import { shippedCRD, shippedKinds } from "../../support/shipped-crd.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";
import { computesPath, createRecordOf, specOf } from "./computes.ts";
import { isObserver } from "./observers.ts";
import { operatorNamespace } from "./operator.ts";

const connectionPath = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/serviceconnections";
const secretsPath = "/api/v1/namespaces/shop/secrets";
export const serviceURL = "https://service.test/api/v2";
/** Of a service that knows the same projects and none of the endpoints. */
export const otherServiceURL = "https://elsewhere.test/api/v2";

const namespacePath = "/api/v1/namespaces/shop";
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const poolsPath = computesPath.replace(/computes$/, "computepools");
const branchesPath = computesPath.replace(/computes$/, "branches");
const accessLabel = "access.compute-operator.dev/shop";
const group = "compute-operator.dev";
const shardLabel = `${group}/shard`;

const definitions = shippedKinds.map(shippedCRD);

/** What users do to the cluster with kubectl: directly, without weather, and again on a conflict. */
export class Workload {
  readonly #server: ApiServer;
  readonly #refresh: { refreshInterval?: string };
  /** Whether the Computes go through a ClusterServiceConnection. */
  readonly #shared: boolean;
  /** What the namespace is selected by, also when it is made again. */
  #labels: JsonObject = { [accessLabel]: "yes" };
  /** What the spec of each pool has besides, in a fleet. */
  readonly #adoptFormer: JsonObject;
  /** What they have declared, as in a Git repository: applied again if all of it was deleted. */
  readonly #declared = new Map<string, { spec: JsonObject; shard: string | null }>();
  readonly #branches = new Map<string, JsonObject>();
  readonly #pools = new Map<string, { replicas: number; template: JsonObject }>();

  /** `refreshMs`: of the connection, where it is not the default. */
  constructor(server: ApiServer, { refreshMs, shared, fleet }: { refreshMs?: number; shared?: true; fleet?: string }) {
    this.#adoptFormer = fleet === undefined ? {} : { adoptFormer: true };
    this.#server = server;
    this.#shared = shared === true;
    this.#refresh = refreshMs === undefined ? {} : { refreshInterval: `${refreshMs / 1000}s` };
  }

  /** What is missing of the definitions, the namespace, the connection with its key, and all that was declared. */
  settle(key: string): void {
    for (const body of definitions) this.#do({ method: "POST", path: definitionsPath, body });
    for (const name of ["shop", operatorNamespace]) {
      const labels = name === "shop" && this.#shared ? this.#labels : {};
      this.#do({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name, labels } } });
    }
    const secret = {
      metadata: { name: "api-key" },
      type: "compute-operator.dev/api-key",
      stringData: { "api-key": key },
    };
    this.#do({ method: "POST", path: this.#secretsPath, body: secret });
    const connection = {
      metadata: { name: "default" },
      spec: { baseURL: serviceURL, apiKeySecretRef: { name: "api-key" }, ...this.#refresh, ...this.#access },
    };
    this.#do({ method: "POST", path: this.#connectionPath, body: connection });
    for (const [name, { spec, shard }] of this.#declared) {
      this.apply(name, spec);
      if (shard !== null) this.label(name, shard);
    }
    for (const [name, spec] of this.#branches) this.applyBranch(name, spec);
    for (const [name, { replicas, template }] of this.#pools) this.scalePool(name, replicas, template);
  }

  get #secretsPath(): string {
    return this.#shared ? secretsPath.replace("/shop/", `/${operatorNamespace}/`) : secretsPath;
  }

  get #connectionPath(): string {
    return this.#shared ? connectionPath.replace("namespaces/shop/", "cluster") : connectionPath;
  }

  /** What the spec of a ClusterServiceConnection has besides. */
  get #access(): JsonObject {
    if (!this.#shared) return {};
    return { namespaceSelector: { matchLabels: { [accessLabel]: "yes" } }, allowedProjects: ["*"] };
  }

  /** A spec as it names the connection that there is. */
  #through(spec: JsonObject): JsonObject {
    return this.#shared ? { ...spec, connectionRef: { kind: "ClusterServiceConnection", name: "default" } } : spec;
  }

  /** Sets or takes away the label that the connection selects the namespace by. */
  select(isSelected: boolean): void {
    this.#labels = isSelected ? { [accessLabel]: "yes" } : {};
    this.#patch(namespacePath, [{ op: "add", path: "/metadata/labels", value: this.#labels }]);
  }

  /** Whether something that was deleted has not come to its end yet. */
  get awaited(): string | undefined {
    const namespace = this.#server.store.get(this.#server.resource("", "namespaces"), undefined, "shop");
    if (namespace?.metadata.deletionTimestamp !== undefined) return "namespace shop";
    const crds = this.#server.resource("apiextensions.k8s.io", "customresourcedefinitions");
    const going = this.#server.store.list(crds).find(({ metadata }) => metadata.deletionTimestamp !== undefined);
    return going === undefined ? undefined : `CRD ${going.metadata.name}`;
  }

  deleteNamespace(): void {
    this.#do({ method: "DELETE", path: namespacePath });
  }

  deleteCRDs(all: boolean): void {
    for (const plural of all ? shippedKinds : (["computes"] as const)) {
      this.#do({ method: "DELETE", path: `${definitionsPath}/${plural}.${group}` });
    }
  }

  setBaseURL(baseURL: string): void {
    this.#patch(`${this.#connectionPath}/default`, [{ op: "replace", path: "/spec/baseURL", value: baseURL }]);
  }

  label(name: string, shard: string | null): void {
    const declared = this.#declared.get(name);
    if (declared !== undefined) this.#declared.set(name, { ...declared, shard });
    const value = shard === null ? {} : { [shardLabel]: shard };
    this.#patch(`${computesPath}/${name}`, [{ op: "add", path: "/metadata/labels", value }]);
  }

  setKey(key: string): void {
    const value = Buffer.from(key).toString("base64");
    this.#patch(`${this.#secretsPath}/api-key`, [{ op: "add", path: "/data", value: { "api-key": value } }]);
  }

  apply(name: string, wanted: JsonObject): void {
    const spec = this.#through(wanted);
    this.#declared.set(name, { spec, shard: this.#declared.get(name)?.shard ?? null });
    const current = this.compute(name);
    if (current === undefined) this.#do({ method: "POST", path: computesPath, body: { metadata: { name }, spec } });
    else if (current.metadata.deletionTimestamp === undefined) {
      this.#patch(`${computesPath}/${name}`, [{ op: "replace", path: "/spec", value: this.#applied(current, spec) }]);
    }
  }

  replace(name: string): void {
    const current = this.compute(name);
    if (current === undefined) return;
    const { resourceVersion } = current.metadata;
    const body = { metadata: { name, resourceVersion }, spec: current["spec"] };
    this.#do({ method: "PUT", path: `${computesPath}/${name}`, body });
  }

  delete(name: string): void {
    this.#declared.delete(name);
    this.#do({ method: "DELETE", path: `${computesPath}/${name}` });
  }

  applyBranch(name: string, wanted: JsonObject): void {
    const spec = this.#through(wanted);
    this.#branches.set(name, wanted);
    const current = this.branches().find(({ metadata }) => metadata.name === name);
    if (current === undefined) this.#do({ method: "POST", path: branchesPath, body: { metadata: { name }, spec } });
    else if (current.metadata.deletionTimestamp === undefined) {
      const { projectID, branchName } = specOf(current);
      const value = { ...spec, projectID, branchName };
      this.#patch(`${branchesPath}/${name}`, [{ op: "replace", path: "/spec", value }]);
    }
  }

  deleteBranch(name: string): void {
    this.#branches.delete(name);
    this.#do({ method: "DELETE", path: `${branchesPath}/${name}` });
  }

  annotateBranch(name: string, key: string, value: string | null): void {
    const object = this.branches().find(({ metadata }) => metadata.name === name);
    if (object === undefined) return;
    const { [`${group}/${key}`]: _, ...others } = object.metadata.annotations ?? {};
    const annotations = { ...others, ...(value === null ? {} : { [`${group}/${key}`]: value }) };
    this.#patch(`${branchesPath}/${name}`, [{ op: "add", path: "/metadata/annotations", value: annotations }]);
  }

  branches(): readonly KubeObject[] {
    return this.#list("branches");
  }

  scalePool(name: string, replicas: number, wanted: JsonObject): void {
    const template = this.#through(wanted);
    this.#pools.set(name, { replicas, template });
    const body = { metadata: { name }, spec: { replicas, template, ...this.#adoptFormer } };
    const { status } = this.#do({ method: "POST", path: poolsPath, body });
    if (status === 409)
      this.#patch(`${poolsPath}/${name}`, [{ op: "replace", path: "/spec/replicas", value: replicas }]);
  }

  deletePool(name: string): void {
    this.#pools.delete(name);
    this.#do({ method: "DELETE", path: `${poolsPath}/${name}` });
  }

  editReplica(name: string): void {
    const current = this.compute(name);
    if (current === undefined || current.metadata.deletionTimestamp !== undefined) return;
    this.#patch(`${computesPath}/${name}`, [{ op: "add", path: "/spec/disabled", value: true }]);
  }

  /** Whether a pool is there, and is to stay. */
  poolStands(uid: string): boolean {
    return this.#list("computepools").some(
      ({ metadata }) => metadata.uid === uid && metadata.deletionTimestamp === undefined,
    );
  }

  /** How many Computes each pool is to have. */
  pools(): { uid: string; name: string; replicas: unknown; status: unknown }[] {
    return this.#list("computepools").map((pool) => ({
      ...pool.metadata,
      replicas: isJsonObject(pool["spec"]) ? pool["spec"]["replicas"] : 0,
      status: pool["status"],
    }));
  }

  connections(): readonly KubeObject[] {
    return this.#shared ? this.#list("clusterserviceconnections", "") : this.#list("serviceconnections");
  }

  dropFinalizers(name: string): void {
    this.#patch(`${computesPath}/${name}`, [{ op: "remove", path: "/metadata/finalizers" }]);
  }

  annotate(name: string, key: string, value: string | null): void {
    const current = this.compute(name);
    if (current === undefined) return;
    const annotations: Record<string, string> = { ...current.metadata.annotations };
    delete annotations[`compute-operator.dev/${key}`];
    if (value !== null) annotations[`compute-operator.dev/${key}`] = value;
    this.#patch(`${computesPath}/${name}`, [{ op: "add", path: "/metadata/annotations", value: annotations }]);
  }

  /** Requests a refresh of every Compute whose create is pending, or is not. */
  askForAll({ pending }: { pending: boolean }, value: string): void {
    for (const compute of this.computes()) {
      if ((createRecordOf(compute) !== undefined) !== pending) continue;
      this.annotate(compute.metadata.name, "reconcileRequestedAt", value);
    }
  }

  adopt(name: string, endpointID: string): void {
    this.#patch(`${computesPath}/${name}`, [{ op: "add", path: "/spec/adopt", value: { endpointID } }]);
  }

  wipeStatus(name: string): void {
    this.#patch(`${computesPath}/${name}/status`, [{ op: "remove", path: "/status" }]);
  }

  copy(from: string, to: string): void {
    const current = this.compute(from);
    if (current === undefined) return;
    const { annotations } = current.metadata;
    const metadata = { name: to, ...(annotations === undefined ? {} : { annotations: { ...annotations } }) };
    this.#do({ method: "POST", path: computesPath, body: { metadata, spec: current["spec"] } });
  }

  computes(): readonly KubeObject[] {
    return this.#list("computes");
  }

  /** The Computes that some operator may act for. */
  managed(): KubeObject[] {
    return this.computes().filter((compute) => !isObserver(compute));
  }

  compute(name: string): KubeObject | undefined {
    if (!this.#server.serves(group, "computes")) return undefined;
    return this.#server.store.get(this.#server.resource(group, "computes"), "shop", name);
  }

  #list(plural: string, namespace = "shop"): readonly KubeObject[] {
    if (!this.#server.serves(group, plural)) return [];
    return this.#server.store.list(this.#server.resource(group, plural), namespace || undefined);
  }

  /** What cannot be changed of a spec stays as it was, so that an apply is not refused for that alone. */
  #applied(current: KubeObject, spec: JsonObject): JsonObject {
    const before = isJsonObject(current["spec"]) ? current["spec"] : {};
    return { ...spec, projectID: before["projectID"], type: before["type"] };
  }

  #patch(path: string, body: unknown): void {
    this.#do({ method: "PATCH", path, body, contentType: "application/json-patch+json" });
  }

  #do(request: ClusterRequest): ClusterResponse {
    return this.#server.handle(request);
  }
}
