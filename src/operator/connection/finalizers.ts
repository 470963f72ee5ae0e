import type { ClusterClient, ListSelection } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { listAll } from "../kube/list-all.ts";
import { isObjectOf, type ResourceKind } from "../kube/objects.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { API_KEY_SECRET_TYPE, finalizers } from "../resources/names.ts";
import type { KubeObject } from "../resources/object.ts";
import { asRecord } from "../resources/record.ts";
import {
  parseServiceConnection,
  type ServiceConnection,
  serviceConnectionKind,
} from "../resources/service-connection.ts";
import { type Secret, secretKind } from "./resolve.ts";

export interface GuardsOptions {
  cluster: ClusterClient;
  cache: {
    connectionsOf(namespace: string): readonly ServiceConnection[];
    secret(namespace: string, name: string): Secret | undefined;
    secretsOf(namespace: string): readonly Secret[];
    /** The Computes that name this connection. */
    usersOf(namespace: string, name: string): readonly Compute[];
    /** Those that are gone and left something behind that is still to be deleted through it. */
    departedFrom(namespace: string, name: string): readonly Compute[];
  };
  /** Asks the API server whether the CRD of Computes is being deleted, or gone. */
  uninstalling: () => Promise<boolean>;
}

/** The finalizers that hold connections and their Secrets as long as Computes need them. */
export class Guards {
  readonly #options: GuardsOptions;

  constructor(options: GuardsOptions) {
    this.#options = options;
  }

  /** While a Compute uses the connection, it and its Secret may not go: the computes could not be deleted any more. */
  async protect(connection: ServiceConnection): Promise<"stays" | "gone"> {
    const { cache } = this.#options;
    const namespace = connection.metadata.namespace ?? "";
    if (this.#inUse(connection)) {
      const secret = cache.secret(namespace, connection.spec.apiKeySecretRef.name);
      const stand = hasFinalizer(connection) && (secret === undefined || hasFinalizer(secret));
      // The cache may lag behind the last user's end too: another shard would take off what is set here, over and over.
      if (!stand && !(await this.#provedUnused(connection))) {
        await this.#addFinalizer(serviceConnectionKind, connection);
        if (secret !== undefined) await this.#addFinalizer(secretKind, secret);
      }
    } else if (hasFinalizer(connection) && !this.#isKept(connection) && (await this.#provedUnused(connection))) {
      // The Secret first: whoever comes after a crash in between finds the connection, and comes back here.
      await this.releaseSecrets(namespace, { gone: connection.metadata.uid });
      await this.#removeFinalizer(serviceConnectionKind, connection);
      // One that was only waiting for that goes, and its watch event brings the rest.
      if (connection.metadata.deletionTimestamp !== undefined) return "gone";
    }
    await this.releaseSecrets(namespace);
    return "stays";
  }

  /** Lets go of the Secrets that no connection in use names any more; one that is gone, or about to go, needs none. */
  async releaseSecrets(namespace: string, { gone }: { gone?: string } = {}): Promise<void> {
    const { cache } = this.#options;
    const needed = new Set(
      cache
        .connectionsOf(namespace)
        .filter(({ metadata }) => metadata.uid !== gone)
        .filter((connection) => this.#inUse(connection) || hasFinalizer(connection))
        .map(({ spec }) => spec.apiKeySecretRef.name),
    );
    // Once the connection is gone nobody comes back for a guard that the cache does not show yet.
    const secrets = gone === undefined ? cache.secretsOf(namespace) : await this.#secretsNow(namespace);
    const unneeded = secrets.filter((secret) => hasFinalizer(secret) && !needed.has(secret.metadata.name));
    if (unneeded.length === 0) return;
    // The cache may lag behind a connection that was just made, or that another shard has just guarded.
    const inUse = await this.#secretsInUse(namespace, gone);
    for (const secret of unneeded) {
      if (!inUse.has(secret.metadata.name)) await this.#removeFinalizer(secretKind, secret);
    }
  }

  async #secretsNow(namespace: string): Promise<Secret[]> {
    const items = await this.#listed(secretKind, namespace, { fieldSelector: `type=${API_KEY_SECRET_TYPE}` });
    return items.filter((item) => isObjectOf(secretKind, item));
  }

  /** The Secrets of the connections that are in use as the API server has it, but for one that goes. */
  async #secretsInUse(namespace: string, gone: string | undefined): Promise<Set<string>> {
    const connections = await this.#listed(serviceConnectionKind, namespace);
    const named = new Set((await this.#listed(computeKind, namespace)).map(connectionNameOf));
    const inUse = new Set<string>();
    for (const item of connections) {
      const parsed = parseServiceConnection(item);
      // One that cannot be read may name any of them.
      if (!parsed.ok) return new Set(this.#options.cache.secretsOf(namespace).map(({ metadata }) => metadata.name));
      const { metadata, spec } = parsed.value;
      if (metadata.uid === gone) continue;
      if (hasFinalizer(parsed.value) || named.has(metadata.name)) inUse.add(spec.apiKeySecretRef.name);
    }
    return inUse;
  }

  #inUse({ metadata }: ServiceConnection): boolean {
    return this.#options.cache.usersOf(metadata.namespace ?? "", metadata.name).length > 0;
  }

  /** For what has departed the guard stays, and is not set anew: another shard, knowing nothing of it, takes it off. */
  #isKept({ metadata }: ServiceConnection): boolean {
    return this.#options.cache.departedFrom(metadata.namespace ?? "", metadata.name).length > 0;
  }

  /** The cache may lag behind a Compute that was just made: the API server is asked before the guard is dropped. */
  async #provedUnused({ metadata }: ServiceConnection): Promise<boolean> {
    const computes = await this.#listed(computeKind, metadata.namespace ?? "");
    return !computes.some((item) => connectionNameOf(item) === metadata.name);
  }

  /** All of a kind in a namespace, from the API server itself. Where the CRDs are gone, all of that is. */
  async #listed(kind: ResourceKind, namespace: string, only: ListSelection = {}): Promise<unknown[]> {
    const { cluster, uninstalling } = this.#options;
    try {
      return (await listAll(cluster, kind, { ...only, namespace, limit: 500 })).items;
    } catch (error) {
      if (!isNotFound(error) || !(await uninstalling())) throw error;
      return [];
    }
  }

  async #addFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    if (hasFinalizer(object) || object.metadata.deletionTimestamp !== undefined) return;
    const patch = guardedPatch(object).addFinalizer(finalizers.inUse);
    await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }

  async #removeFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    const patch = guardedPatch(object, { resourceVersion: true }).removeFinalizer(finalizers.inUse);
    await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }
}

/** Whether our finalizer holds a connection or its Secret. */
export function hasFinalizer({ metadata }: Pick<KubeObject, "metadata">): boolean {
  return metadata.finalizers?.includes(finalizers.inUse) === true;
}

function connectionNameOf(raw: unknown): string | undefined {
  const { name } = asRecord(asRecord(asRecord(raw).spec).connectionRef);
  return typeof name === "string" ? name : "default";
}
