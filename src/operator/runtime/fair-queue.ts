/** Number of keys of one flow, and of all flows of one tenant, handled at a time. */
export interface FlowBounds {
  perFlow: number;
  perTenant: number;
}

/**
 * Keys that wait for a worker, in flows, as in API priority and fairness. A flow groups keys that fail together, such
 * as those of one connection: if its service is dead, its keys occupy their share of the workers and no more. The part
 * of a flow's name before the slash is its tenant.
 *
 * Expected flow: `put` adds a key; `next` returns the next key to handle, with the function that releases its place.
 * Guarantees: tenants are served in turn, whatever their number of flows. Of the flows of a tenant, one with the fewest
 * keys that are handled is next, so that dead flows leave room for the others; equal ones take turns. Within a flow,
 * keys are served in order of arrival. At most `perFlow` and `perTenant` keys are handled at a time.
 * Assumptions: the caller releases each key once.
 */
export class FairQueue {
  readonly #bounds: FlowBounds;
  readonly #tenants = new Map<string, Tenant>();
  /** Tenants with a waiting key and room for it; the first is next. */
  readonly #turns = new Set<Tenant>();
  readonly #flowOfKey = new Map<string, Flow>();

  constructor(bounds: FlowBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#flowOfKey.size;
  }

  has(key: string): boolean {
    return this.#flowOfKey.has(key);
  }

  /** True if the tenant of this flow has room for another key. */
  hasRoom(flowName: string): boolean {
    const tenant = this.#tenants.get(tenantOf(flowName));
    return tenant === undefined || tenant.running < this.#bounds.perTenant;
  }

  /** Adds the key, or moves it if its flow has changed; a moved key keeps its waiting time. */
  put(key: string, flowName: string, since: number): void {
    const before = this.#flowOfKey.get(key);
    if (before?.name === flowName) return;
    const waitsSince = before?.waiting.get(key) ?? since;
    if (before !== undefined) this.#take(before, key);
    const flow = this.#flow(flowName);
    flow.waiting.set(key, waitsSince);
    this.#flowOfKey.set(key, flow);
    this.#settle(flow);
  }

  /** The next key, and the function that releases its place in the flow; `undefined` if none may run. */
  next(): { key: string; since: number; release: () => void } | undefined {
    for (const tenant of this.#turns) {
      const flow = leastServed(tenant.turns);
      for (const [key, since] of flow?.waiting ?? []) {
        if (flow === undefined) break;
        flow.running += 1;
        tenant.running += 1;
        tenant.turns.delete(flow);
        this.#turns.delete(tenant);
        this.#take(flow, key);
        return { key, since, release: () => this.#release(flow) };
      }
    }
    return undefined;
  }

  /** The key no longer waits. */
  remove(key: string): void {
    const flow = this.#flowOfKey.get(key);
    if (flow !== undefined) this.#take(flow, key);
  }

  /** The time since which the oldest key has waited. */
  oldest(): number | undefined {
    let oldest: number | undefined;
    for (const flow of new Set(this.#flowOfKey.values())) {
      for (const since of flow.waiting.values()) oldest = oldest === undefined ? since : Math.min(oldest, since);
    }
    return oldest;
  }

  clear(): void {
    for (const [key, flow] of this.#flowOfKey) this.#take(flow, key);
  }

  #release(flow: Flow): void {
    flow.running -= 1;
    flow.tenant.running -= 1;
    this.#settle(flow);
  }

  #take(flow: Flow, key: string): void {
    flow.waiting.delete(key);
    this.#flowOfKey.delete(key);
    this.#settle(flow);
  }

  #flow(name: string): Flow {
    const tenantName = tenantOf(name);
    const tenant = this.#tenants.get(tenantName) ?? {
      name: tenantName,
      flows: new Map(),
      turns: new Set(),
      running: 0,
    };
    this.#tenants.set(tenantName, tenant);
    const flow = tenant.flows.get(name) ?? { name, tenant, waiting: new Map(), running: 0 };
    tenant.flows.set(name, flow);
    return flow;
  }

  /** Adds flow and tenant to the end of the turns or removes them; drops both when nothing waits or runs. */
  #settle(flow: Flow): void {
    const { tenant, waiting, running } = flow;
    if (waiting.size > 0 && running < this.#bounds.perFlow) tenant.turns.add(flow);
    else tenant.turns.delete(flow);
    if (waiting.size === 0 && running === 0) tenant.flows.delete(flow.name);
    if (tenant.turns.size > 0 && tenant.running < this.#bounds.perTenant) this.#turns.add(tenant);
    else this.#turns.delete(tenant);
    if (tenant.flows.size === 0) this.#tenants.delete(tenant.name);
  }
}

function tenantOf(flowName: string): string {
  const [tenant = ""] = flowName.split("/", 1);
  return tenant;
}

function leastServed(flows: Iterable<Flow>): Flow | undefined {
  let least: Flow | undefined;
  for (const flow of flows) {
    if (least === undefined || flow.running < least.running) least = flow;
    if (least.running === 0) break;
  }
  return least;
}

interface Tenant {
  name: string;
  flows: Map<string, Flow>;
  /** The tenant's flows with a waiting key and room for it; the first is next. */
  turns: Set<Flow>;
  running: number;
}

interface Flow {
  name: string;
  tenant: Tenant;
  /** Each waiting key and the time since which it waits, in order of arrival. */
  waiting: Map<string, number>;
  running: number;
}
