export interface FairQueueOptions {
  /** Most keys of one flow that are handled at a time. Default: no bound. */
  perFlow?: number;
  /** Most keys of all flows of one tenant that are handled at a time. Default: no bound. */
  perTenant?: number;
  /** Flows by their names after the slash, the most urgent first. Default: the flow with the fewest handled keys. */
  priorities?: readonly string[];
}

/** A key that left the queue to be handled. The caller releases it once. */
export interface Started<V, K> {
  key: K;
  value: V;
  flow: string;
  release: () => void;
}

/** One key in twenty of a tenant is of a lower priority while any such waits: 5 %, so that none starves. */
const lowerEvery = 20;

/**
 * Keys that wait, each with a value, in flows, as in API priority and fairness. The part of a flow's name before the
 * slash is its tenant.
 *
 * Expected flow: `put` adds a key; `next` returns the next one to handle, with the function that releases its place.
 * Guarantees: tenants are served in turn, whatever their number of flows and keys. Of the flows of a tenant, the most
 * urgent is next, or one with the fewest handled keys, so that flows whose keys hang leave room for the others; equal
 * flows take turns. Within a flow, keys are served in order of arrival. No more keys are handled than the bounds allow.
 */
export class FairQueue<V, K = unknown> {
  readonly #perFlow: number;
  readonly #perTenant: number;
  readonly #priorities: readonly string[];
  /** Tenants with keys that wait or are handled; the first is next. */
  readonly #tenants = new Map<string, Tenant<V, K>>();
  readonly #flowOf = new Map<K, Flow<V, K>>();

  constructor({ perFlow, perTenant, priorities = [] }: FairQueueOptions = {}) {
    this.#perFlow = perFlow ?? Number.POSITIVE_INFINITY;
    this.#perTenant = perTenant ?? Number.POSITIVE_INFINITY;
    this.#priorities = priorities;
  }

  get size(): number {
    return this.#flowOf.size;
  }

  /** Number of tenants with keys that wait or are handled. */
  get tenants(): number {
    return this.#tenants.size;
  }

  get(key: K): V | undefined {
    return this.#flowOf.get(key)?.waiting.get(key)?.value;
  }

  has(key: K): boolean {
    return this.#flowOf.has(key);
  }

  /** True if the tenant of this flow has room for another key. */
  hasRoom(flow: string): boolean {
    return (this.#tenants.get(tenantOf(flow))?.running ?? 0) < this.#perTenant;
  }

  /** Adds the key, or renews its value. A key that waits moves if its flow has changed, but to no lower priority. */
  put(key: K, name: string, value: V): void {
    const before = this.#flowOf.get(key);
    const waiting = before?.waiting.get(key);
    if (before !== undefined && waiting !== undefined) {
      if (before.name === name || this.#rankOf(name) > before.rank) {
        waiting.value = value;
        return;
      }
      this.remove(key);
    }
    const flow = this.#flow(name);
    flow.waiting.set(key, { value, ticket: flow.joined++ });
    flow.tenant.waiting += 1;
    this.#flowOf.set(key, flow);
  }

  /** Adds the key before all others; the next turn is its tenant's. Takes time for each tenant: for rare cases. */
  putFirst(key: K, name: string, value: V): void {
    this.remove(key);
    this.put(key, name, value);
    const flow = this.#flow(name);
    const { tenant } = flow;
    flow.waiting.delete(key);
    flow.waiting = new Map([[key, { value, ticket: flow.served }], ...flow.waiting]);
    tenant.flows = new Map([[name, flow], ...tenant.flows]);
    const others = [...this.#tenants];
    this.#tenants.clear();
    this.#tenants.set(tenant.name, tenant);
    for (const [other, its] of others) if (its !== tenant) this.#tenants.set(other, its);
  }

  /** The next key to handle; a flow whose first key may not go is left out. `undefined` if none may be handled. */
  next(mayGo: (value: V, flow: string) => boolean = () => true): Started<V, K> | undefined {
    for (const tenant of this.#tenants.values()) {
      if (tenant.waiting === 0 || tenant.running >= this.#perTenant) continue;
      const flow = this.#flowToServe(tenant, mayGo);
      for (const [key, { value }] of flow?.waiting ?? []) if (flow !== undefined) return this.#start(flow, key, value);
    }
    return undefined;
  }

  /** Starts this key, whatever its turn, if the bounds allow. */
  take(key: K): Started<V, K> | undefined {
    const flow = this.#flowOf.get(key);
    const waiting = flow?.waiting.get(key);
    if (flow === undefined || waiting === undefined) return undefined;
    if (flow.running >= this.#perFlow || flow.tenant.running >= this.#perTenant) return undefined;
    return this.#start(flow, key, waiting.value);
  }

  /** Returns true if the key waited. */
  remove(key: K): boolean {
    const flow = this.#flowOf.get(key);
    if (flow === undefined) return false;
    this.#flowOf.delete(key);
    flow.waiting.delete(key);
    flow.tenant.waiting -= 1;
    this.#forgetIdle(flow);
    return true;
  }

  clear(): void {
    for (const key of this.#flowOf.keys()) this.remove(key);
  }

  *values(): Iterable<V> {
    for (const tenant of this.#tenants.values())
      for (const flow of tenant.flows.values()) for (const { value } of flow.waiting.values()) yield value;
  }

  /** About how many are served before the key, including those who left in between. */
  before(key: K): number {
    const flow = this.#flowOf.get(key);
    let ahead = (flow?.waiting.get(key)?.ticket ?? 0) - (flow?.served ?? 0);
    for (const { rank, waiting } of flow?.tenant.flows.values() ?? [])
      if (flow !== undefined && rank < flow.rank) ahead += waiting.size;
    const tenants = [...this.#tenants.values()].filter(({ waiting }) => waiting > 0).length;
    return Math.max(0, Math.min(this.size - 1, ahead * tenants));
  }

  waitingOf(tenant: string): number {
    return this.#tenants.get(tenant)?.waiting ?? 0;
  }

  /** The key that has waited longest in a flow of the tenant with the most keys. Takes time for each tenant. */
  oldestOfMost(): K | undefined {
    let most: Tenant<V, K> | undefined;
    for (const tenant of this.#tenants.values()) if (tenant.waiting > (most?.waiting ?? 0)) most = tenant;
    for (const { waiting } of most?.flows.values() ?? []) for (const key of waiting.keys()) return key;
    return undefined;
  }

  #rankOf(name: string): number {
    return this.#priorities.indexOf(name.slice(name.lastIndexOf("/") + 1));
  }

  #flow(name: string): Flow<V, K> {
    const tenantName = tenantOf(name);
    const tenant = this.#tenants.get(tenantName) ?? newTenant(tenantName);
    this.#tenants.set(tenantName, tenant);
    const rank = this.#rankOf(name);
    const flow = tenant.flows.get(name) ?? { name, rank, tenant, waiting: new Map(), running: 0, joined: 0, served: 0 };
    tenant.flows.set(name, flow);
    return flow;
  }

  #flowToServe(tenant: Tenant<V, K>, mayGo: (value: V, flow: string) => boolean): Flow<V, K> | undefined {
    const open: Flow<V, K>[] = [];
    let least: Flow<V, K> | undefined;
    for (const flow of tenant.flows.values()) {
      if (flow.running >= this.#perFlow || !isFirstAllowed(flow, mayGo)) continue;
      open.push(flow);
      if (least === undefined || flow.running < least.running) least = flow;
      if (this.#priorities.length === 0 && least.running === 0) break;
    }
    if (this.#priorities.length === 0 || open.length < 2) return least;
    open.sort((one, other) => one.rank - other.rank);
    tenant.contested += 1;
    let lower = 0;
    for (let n = tenant.contested; n % lowerEvery === 0 && lower < open.length - 1; n /= lowerEvery) lower += 1;
    return open[lower];
  }

  #start(flow: Flow<V, K>, key: K, value: V): Started<V, K> {
    const { tenant, name } = flow;
    flow.running += 1;
    tenant.running += 1;
    flow.served = Math.max(flow.served, (flow.waiting.get(key)?.ticket ?? 0) + 1);
    this.remove(key);
    // Flow and tenant wait for the others now, and again once they have room after they had none.
    moveToEnd(tenant.flows, name);
    moveToEnd(this.#tenants, tenant.name);
    const release = () => {
      if (flow.running === this.#perFlow) moveToEnd(tenant.flows, name);
      if (tenant.running === this.#perTenant) moveToEnd(this.#tenants, tenant.name);
      flow.running -= 1;
      tenant.running -= 1;
      this.#forgetIdle(flow);
    };
    return { key, value, flow: name, release };
  }

  #forgetIdle({ name, tenant, waiting, running }: Flow<V, K>): void {
    if (waiting.size === 0 && running === 0) tenant.flows.delete(name);
    if (tenant.flows.size === 0) this.#tenants.delete(tenant.name);
  }
}

function tenantOf(flow: string): string {
  const [tenant = ""] = flow.split("/", 1);
  return tenant;
}

function moveToEnd<V>(map: Map<string, V>, name: string): void {
  const value = map.get(name);
  if (value === undefined) return;
  map.delete(name);
  map.set(name, value);
}

function isFirstAllowed<V, K>({ name, waiting }: Flow<V, K>, mayGo: (value: V, flow: string) => boolean): boolean {
  for (const { value } of waiting.values()) return mayGo(value, name);
  return false;
}

interface Tenant<V, K> {
  name: string;
  /** The first of equal ones is next. */
  flows: Map<string, Flow<V, K>>;
  waiting: number;
  running: number;
  /** Number of times that keys of several priorities waited when it was served. */
  contested: number;
}

function newTenant<V, K>(name: string): Tenant<V, K> {
  return { name, flows: new Map(), waiting: 0, running: 0, contested: 0 };
}

interface Flow<V, K> {
  name: string;
  rank: number;
  tenant: Tenant<V, K>;
  /** In order of arrival. */
  waiting: Map<K, { value: V; ticket: number }>;
  running: number;
  /** Counts the keys that joined: the keys served since tell how many are ahead. */
  joined: number;
  served: number;
}
