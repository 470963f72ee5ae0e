import { setTimeout as sleep } from "node:timers/promises";
import { HttpTransport } from "../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../src/operator/kube/kubeconfig.ts";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { isJsonObject, isKubeObject, type JsonObject, type KubeObject } from "../simulation/api-server/objects.ts";
import { realClock } from "../support/real-clock.ts";

const group = "/apis/compute-operator.dev/v1alpha1";

/** How long somebody tries again while the API server is down, in milliseconds. */
const patienceMs = 120_000;

/** The API server as users use it: they send a request again until it is answered. */
export class PatientCluster implements AsyncDisposable {
  readonly #transport: HttpTransport;

  constructor(kubeconfig: string) {
    const connection = loadKubeConfig({ file: kubeconfig, env: {} });
    this.#transport = new HttpTransport({ connection, clock: realClock, userAgent: "users", connections: 16 });
  }

  /** The answer's status and object; where an answer was lost, that of the request that was sent again. */
  async request(request: ClusterRequest): Promise<{ status: number; body: unknown }> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      try {
        const answer = await this.#transport.request(request, {
          signal: new AbortController().signal,
          timeoutMs: 10_000,
        });
        if (answer.status !== 429 && answer.status < 500) return answer;
        if (performance.now() > deadline) throw new Error(`${request.path} is answered ${answer.status} to the end`);
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await sleep(250);
    }
  }

  async get(path: string): Promise<KubeObject | undefined> {
    const { status, body } = await this.request({ method: "GET", path });
    if (status === 404) return undefined;
    if (isJsonObject(body) && isKubeObject(body)) return body;
    throw new Error(`GET ${path} is answered ${status}: ${JSON.stringify(body)}`);
  }

  /** Changes an object; answers false where there is none, or it is no longer what the patch tests for. */
  async patch(path: string, body: readonly JsonObject[]): Promise<boolean> {
    const contentType = "application/json-patch+json";
    const answer = await this.request({ method: "PATCH", path, body, contentType });
    if (answer.status === 200) return true;
    // The same status stands for a test that fails, which names no field, and for a spec that is refused.
    const refused = answer.status === 422 && JSON.stringify(answer.body).includes('"field"');
    if (refused || ![404, 409, 422].includes(answer.status)) {
      throw new Error(`PATCH ${path} is answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    return false;
  }

  list(namespace: string, plural: string): Promise<KubeObject[]> {
    return this.listAt(pathOf(namespace, plural));
  }

  async listAt(path: string): Promise<KubeObject[]> {
    const { body } = await this.request({ method: "GET", path });
    const items: unknown[] = isJsonObject(body) && Array.isArray(body["items"]) ? body["items"] : [];
    // Items of a list do not repeat their kind.
    const kinded = items.filter(isJsonObject).map((item) => ({ apiVersion: "", kind: "", ...item }));
    return kinded.filter(isKubeObject);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport.close();
  }
}

/** Where objects of the operator's own kinds lie, e.g. `pathOf("shop", "computes", "reader")`. */
export function pathOf(namespace: string, plural: string, name?: string): string {
  return `${group}/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`;
}
