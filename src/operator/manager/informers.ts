import { type Secret, secretKind } from "../connection/resolve.ts";
import type { ClusterClient } from "../kube/client.ts";
import type { ReflectorOptions } from "../kube/reflector.ts";
import { Reflectors } from "../kube/reflectors.ts";
import type { Change } from "../kube/store.ts";
import { crdIsGoing } from "../kube/uninstalling.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { type Compute, computeKind, parseCompute } from "../resources/compute.ts";
import { type ComputePool, computePoolKind, parseComputePool } from "../resources/compute-pool.ts";
import { API_KEY_SECRET_TYPE, labels } from "../resources/names.ts";
import type { KubeObject, Parsed, ResourceKind } from "../resources/object.ts";
import {
  parseServiceConnection,
  type ServiceConnection,
  serviceConnectionKind,
} from "../resources/service-connection.ts";
import type { Clock, Random } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { OperationalError } from "../runtime/operational-error.ts";
import { ConnectionUsers } from "./connection-users.ts";

export interface InformersOptions {
  client: ClusterClient;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics;
  namespaces: readonly string[];
}

/** Called with each change, after the cache has it. */
export interface ChangeHandlers {
  compute: (change: Change<Compute>) => void;
  connection: (change: Change<ServiceConnection>) => void;
  pool: (change: Change<ComputePool>) => void;
  apiKey: (change: Change<Secret>) => void;
  connectionSecret: (change: Change<Secret>) => void;
  /** A complete list of Computes was read. */
  computesRelisted: () => void;
}

/** Caches of all watched objects. Of Secrets: API keys, by their type, and connection Secrets, by their label. */
export class Informers {
  readonly computes: Reflectors<Compute>;
  readonly users = new ConnectionUsers();
  readonly connections: Reflectors<ServiceConnection>;
  readonly pools: Reflectors<ComputePool>;
  readonly apiKeys: Reflectors<Secret>;
  readonly connectionSecrets: Reflectors<Secret>;
  readonly #handlers = new Set<ChangeHandlers>();

  constructor(options: InformersOptions) {
    const { namespaces, metrics, ...shared } = options;
    const isUninstalled = () => crdIsGoing(options.client);
    const observer = {
      watchRestarted: (kind: string, cause: string) => metrics.watchRestarts.add({ kind, cause }),
      relisted: (kind: string, cause: string) => metrics.relists.add({ kind, cause }),
    };
    const reflect = <T extends KubeObject>(
      kind: ResourceKind<T>,
      onChange: (change: Change<T>) => void,
      more: Partial<ReflectorOptions<T>> = {},
    ) => new Reflectors<T>(namespaces, { ...shared, isUninstalled, observer, kind, onChange, ...more });
    const each = (call: (handlers: ChangeHandlers) => void) => this.#handlers.forEach(call);
    const computeChanged = (change: Change<Compute>) => {
      this.users.change(change);
      each((handlers) => handlers.compute(change));
    };
    this.computes = reflect(computeKind, computeChanged, {
      parse: (raw) => readable(parseCompute(raw)),
      onRelist: () => each((handlers) => handlers.computesRelisted()),
    });
    this.connections = reflect(serviceConnectionKind, (change) => each((handlers) => handlers.connection(change)), {
      parse: (raw) => readable(parseServiceConnection(raw)),
    });
    this.pools = reflect(computePoolKind, (change) => each((handlers) => handlers.pool(change)), {
      parse: (raw) => readable(parseComputePool(raw)),
    });
    this.apiKeys = reflect(secretKind, (change) => each((handlers) => handlers.apiKey(change)), {
      fieldSelector: `type=${API_KEY_SECRET_TYPE}`,
      selects: ({ type }) => type === API_KEY_SECRET_TYPE,
    });
    this.connectionSecrets = reflect(secretKind, (change) => each((handlers) => handlers.connectionSecret(change)), {
      labelSelector: labels.compute,
      selects: ({ metadata }) => metadata.labels?.[labels.compute] !== undefined,
    });
  }

  /** Calls the handlers with each change from now on, until the function that it returns is called. */
  subscribe(handlers: ChangeHandlers): () => void {
    this.#handlers.add(handlers);
    return () => this.#handlers.delete(handlers);
  }

  get #all() {
    return this.#byKind.map(([, reflectors]) => reflectors);
  }

  get #byKind() {
    return [
      [computeKind, this.computes],
      [serviceConnectionKind, this.connections],
      [computePoolKind, this.pools],
      [secretKind, this.apiKeys],
      [secretKind, this.connectionSecrets],
    ] as const;
  }

  /** Applies the API server's answer to a write of this process before the watch delivers it. */
  answered({ group, plural }: ResourceKind, object: KubeObject, { created }: { created: boolean }): void {
    for (const [kind, reflectors] of this.#byKind) {
      if (kind.group === group && kind.plural === plural) reflectors.answered(object, created);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((reflectors) => reflectors.run(signal)));
  }

  /** The kinds without a complete list yet. */
  unsynced(): string[] {
    const unserved = this.#byKind.filter(([, reflectors]) => !reflectors.isServed());
    return [...new Set(unserved.map(([{ kind }]) => kind))];
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((reflectors) => reflectors.whenSynced(signal)));
  }

  lastEventAgeMs(): Record<string, number> {
    return {
      Compute: this.computes.lastEventAgeMs(),
      ServiceConnection: this.connections.lastEventAgeMs(),
      ComputePool: this.pools.lastEventAgeMs(),
      Secret: Math.max(this.apiKeys.lastEventAgeMs(), this.connectionSecrets.lastEventAgeMs()),
    };
  }
}

/** Throws for an object that only CRDs of another version allow: the reflector logs and skips it. */
function readable<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new OperationalError(parsed.problem);
  return parsed.value;
}
