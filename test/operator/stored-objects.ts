import { z } from "zod";
import { type Branch, parseBranch } from "../../src/operator/resources/branch.ts";
import { type Compute, parseCompute } from "../../src/operator/resources/compute.ts";
import type { MemoryCluster } from "./kube/memory-cluster.ts";

export interface StoredFields {
  name?: string;
  metadata?: object;
  spec?: object;
  /** Of a Branch: without the uid in `proof`, which the API server gives. */
  status?: object;
}

interface StoredKind<T> {
  kind: string;
  plural: string;
  /** What a spec has unless a test says otherwise. */
  spec: object;
  read: (object: unknown) => { ok: true; value: T } | { ok: false; problem: string };
}

/** The objects of one kind in a namespace of an API server in memory, and what people do to them. */
export class StoredObjects<T> {
  readonly #server: MemoryCluster["server"];
  readonly #kind: StoredKind<T>;
  readonly #path: string;

  constructor({ server }: Pick<MemoryCluster, "server">, kind: StoredKind<T>) {
    this.#server = server;
    this.#kind = kind;
    this.#path = `/apis/compute-operator.dev/v1alpha1/namespaces/default/${kind.plural}`;
  }

  /** Creates an object, its status and all: the API server gives it uid and generation. */
  create({ name = "shop", metadata, spec, status }: StoredFields = {}): T {
    const body = {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: this.#kind.kind,
      metadata: { name, ...metadata },
      spec: { ...this.#kind.spec, ...spec },
    };
    const made = this.#server.handle({ method: "POST", path: this.#path, body });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    if (status !== undefined) this.write([{ op: "add", path: "/status", value: status }], "/status", name);
    return this.object(name);
  }

  /** Somebody's JSON Patch. */
  write(body: unknown, subresource = "", name = "shop"): void {
    const path = `${this.#path}/${name}${subresource}`;
    const request = { method: "PATCH", path, body, contentType: "application/json-patch+json" } as const;
    const { status } = this.#server.handle(request);
    if (status !== 200) throw new Error(`the patch was answered with ${status}`);
  }

  /** Asks for its deletion; without finalizers it is gone. */
  drop(name = "shop"): void {
    const { status } = this.#server.handle({ method: "DELETE", path: `${this.#path}/${name}` });
    if (status !== 200) throw new Error(`the deletion was answered with ${status}`);
  }

  /** The object as the API server has it now. */
  object(name = "shop"): T {
    return this.#read(this.#server.handle({ method: "GET", path: `${this.#path}/${name}` }).body);
  }

  /** The same, where there is one. */
  find(name = "shop"): T | undefined {
    const { status, body } = this.#server.handle({ method: "GET", path: `${this.#path}/${name}` });
    return status === 404 ? undefined : this.#read(body);
  }

  isGone(name = "shop"): boolean {
    return this.find(name) === undefined;
  }

  all(): T[] {
    const { body } = this.#server.handle({ method: "GET", path: this.#path });
    const { items } = z.object({ items: z.array(z.unknown()) }).parse(body);
    return items.map((item) => this.#read(item));
  }

  #read(object: unknown): T {
    const parsed = this.#kind.read(object);
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.value;
  }
}

/** The Computes of `cluster`. */
export function storedComputes(cluster: Pick<MemoryCluster, "server">): StoredObjects<Compute> {
  const spec = { projectID: "shiny-wind-028834", branchID: "br-main" };
  return new StoredObjects(cluster, { kind: "Compute", plural: "computes", spec, read: parseCompute });
}

/** The Branches of `cluster`. */
export function storedBranches(cluster: Pick<MemoryCluster, "server">): StoredObjects<Branch> {
  const spec = { projectID: "shiny-wind-028834", expiry: { never: true } };
  return new StoredObjects(cluster, { kind: "Branch", plural: "branches", spec, read: parseBranch });
}
