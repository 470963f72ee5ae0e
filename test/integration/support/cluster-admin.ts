import type { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import type { ClusterRequest } from "../../../src/operator/kube/transport.ts";
import { eventually } from "../../support/eventually.ts";

/** Any object, read as loosely as a test wants to look into it. */
export interface Raw {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    resourceVersion?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    ownerReferences?: { kind: string; name: string; uid: string }[];
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  type?: string;
}

const group = "/apis/compute-operator.dev/v1alpha1";
const collections = {
  Compute: { root: group, plural: "computes" },
  ServiceConnection: { root: group, plural: "serviceconnections" },
  ComputePool: { root: group, plural: "computepools" },
  Branch: { root: group, plural: "branches" },
  Secret: { root: "/api/v1", plural: "secrets" },
  Event: { root: "/api/v1", plural: "events" },
} as const;
export type Kind = keyof typeof collections;

/**
 * The API server as a person with all rights uses it. Every method throws what the API server says where it refuses.
 */
export class Cluster {
  readonly #transport: HttpTransport;

  constructor(transport: HttpTransport) {
    this.#transport = transport;
  }

  async createNamespace(name: string): Promise<void> {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await this.#send({ method: "POST", path: "/api/v1/namespaces", body: namespace });
  }

  async deleteNamespace(name: string): Promise<void> {
    await this.#send({ method: "DELETE", path: `/api/v1/namespaces/${name}` });
  }

  async namespaceExists(name: string): Promise<boolean> {
    return (await this.#find(`/api/v1/namespaces/${name}`)) !== undefined;
  }

  create(kind: Kind, namespace: string, object: Raw): Promise<Raw> {
    return this.#object({ method: "POST", path: pathOf(kind, namespace), body: object });
  }

  find(kind: Kind, namespace: string, name: string): Promise<Raw | undefined> {
    return this.#find(pathOf(kind, namespace, name));
  }

  async get(kind: Kind, namespace: string, name: string): Promise<Raw> {
    const object = await this.find(kind, namespace, name);
    if (object === undefined) throw new Error(`there is no ${kind} ${namespace}/${name}`);
    return object;
  }

  /** All of a kind; none where the kind itself is gone. */
  async list(kind: Kind, namespace: string): Promise<Raw[]> {
    const answer = await this.#answer({ method: "GET", path: pathOf(kind, namespace) });
    if (answer.status === 404) return [];
    const { items }: { items: Raw[] } = answer.body;
    return items;
  }

  /** Reads the object, changes it and writes it back, again where somebody else was quicker. */
  async modify(
    kind: Kind,
    namespace: string,
    name: string,
    change: (object: Raw) => void,
    status = false,
  ): Promise<Raw> {
    for (;;) {
      // Each attempt begins with what the one before was refused for.
      const object = await this.get(kind, namespace, name);
      change(object);
      const path = pathOf(kind, namespace, name) + (status ? "/status" : "");
      const answer = await this.#answer({ method: "PUT", path, body: object });
      if (answer.status < 300) return answer.body;
      if (answer.status !== 409) throw new Error(`PUT ${path}: ${JSON.stringify(answer.body)}`);
    }
  }

  /** Changes fields of an object's spec: those that are undefined are taken out. */
  edit(kind: Kind, namespace: string, name: string, fields: Record<string, unknown>): Promise<Raw> {
    return this.modify(kind, namespace, name, (object) => {
      object.spec = { ...object.spec, ...fields };
    });
  }

  /** Sets an annotation of the operator's group on a Compute, or with undefined takes it away. */
  annotate(namespace: string, name: string, annotation: string, value: string | undefined): Promise<Raw> {
    const key = `compute-operator.dev/${annotation}`;
    return this.modify("Compute", namespace, name, ({ metadata }) => {
      const { [key]: _, ...others } = metadata.annotations ?? {};
      metadata.annotations = { ...others, ...(value !== undefined && { [key]: value }) };
    });
  }

  async delete(kind: Kind, namespace: string, name: string): Promise<void> {
    await this.#send({ method: "DELETE", path: pathOf(kind, namespace, name) });
  }

  /** Waits until it is gone; the garbage collector may be faster than the caller. */
  async clear(kind: Kind, namespace: string, name: string): Promise<void> {
    const path = pathOf(kind, namespace, name);
    await eventually(`${kind} ${name} gone`, async () => {
      const { status } = await this.#answer({ method: "DELETE", path });
      return status === 404 ? true : undefined;
    });
  }

  /** What a person sees of an object's events, oldest first. */
  async events(namespace: string, name: string): Promise<{ type: string; reason: string; message: string }[]> {
    const fieldSelector = `involvedObject.name=${name}`;
    const body = await this.#send({ method: "GET", path: pathOf("Event", namespace), query: { fieldSelector } });
    return body.items;
  }

  async #find(path: string): Promise<Raw | undefined> {
    const answer = await this.#answer({ method: "GET", path });
    if (answer.status === 404) return undefined;
    return answer.body;
  }

  #object(request: ClusterRequest): Promise<Raw> {
    return this.#send(request);
  }

  async #send(request: ClusterRequest) {
    const answer = await this.#answer(request);
    if (answer.status >= 300) throw new Error(`${request.method} ${request.path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async #answer(request: ClusterRequest) {
    const signal = new AbortController().signal;
    const { status, body } = await this.#transport.request(request, { signal, timeoutMs: 60_000 });
    // Sent through JSON once more, what came is as loose as a test wants to read it.
    return { status, body: JSON.parse(JSON.stringify(body ?? {})) };
  }
}

function pathOf(kind: Kind, namespace: string, name?: string): string {
  const { root, plural } = collections[kind];
  return `${root}/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`;
}
