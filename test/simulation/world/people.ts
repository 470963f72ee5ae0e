import type { ClusterRequest, ClusterResponse } from "../../../src/operator/cluster/transport.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";
import { computesPath } from "./computes.ts";

export const connectionPath = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/serviceconnections";
export const secretsPath = "/api/v1/namespaces/shop/secrets";
export const serviceURL = "https://service.test/api/v2";

/** What people do to the cluster with kubectl: straight, without weather, and again on a conflict. */
export class People {
  readonly #server: ApiServer;

  constructor(server: ApiServer) {
    this.#server = server;
  }

  /** The namespace, the connection and its key. */
  settle(key: string): void {
    this.#do({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: "shop" } } });
    const secret = {
      metadata: { name: "api-key" },
      type: "compute-operator.dev/api-key",
      stringData: { "api-key": key },
    };
    this.#do({ method: "POST", path: secretsPath, body: secret });
    const spec = { baseURL: serviceURL, apiKeySecretRef: { name: "api-key" } };
    this.#do({ method: "POST", path: connectionPath, body: { metadata: { name: "default" }, spec } });
  }

  setKey(key: string): void {
    const value = Buffer.from(key).toString("base64");
    this.#patch(`${secretsPath}/api-key`, [{ op: "add", path: "/data", value: { "api-key": value } }]);
  }

  apply(name: string, spec: JsonObject): void {
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
    this.#do({ method: "DELETE", path: `${computesPath}/${name}` });
  }

  scalePool(name: string, replicas: number, template: JsonObject): void {
    const path = computesPath.replace(/computes$/, "computepools");
    const { status } = this.#do({ method: "POST", path, body: { metadata: { name }, spec: { replicas, template } } });
    if (status === 409) this.#patch(`${path}/${name}`, [{ op: "replace", path: "/spec/replicas", value: replicas }]);
  }

  /** How many Computes each pool is to have. */
  pools(): { uid: string; name: string; replicas: unknown }[] {
    const pools = this.#server.store.list(this.#server.resource("compute-operator.dev", "computepools"), "shop");
    return pools.map((pool) => ({
      ...pool.metadata,
      replicas: isJsonObject(pool["spec"]) ? pool["spec"]["replicas"] : 0,
    }));
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
    return this.#server.store.list(this.#server.resource("compute-operator.dev", "computes"), "shop");
  }

  compute(name: string): KubeObject | undefined {
    const resource = this.#server.resource("compute-operator.dev", "computes");
    return this.#server.store.get(resource, "shop", name);
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
