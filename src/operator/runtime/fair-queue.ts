/** How many keys are handled at a time, of one lane and of all lanes of one tenant. */
export interface FlowBounds {
  perFlow: number;
  perTenant: number;
}

/**
 * Keys that wait for a worker, in lanes. A lane is what shares a fate, such as a tenant's connection: when it is dead,
 * its keys fill their own share of the workers and no more. What stands before the slash in a lane's name is its
 * tenant. Tenants are served in turn, however many lanes each has; of a tenant its lanes in turn; within a lane first
 * come, first served.
 */
export class FairQueue {
  readonly #bounds: FlowBounds;
  readonly #tenants = new Map<string, Tenant>();
  /** The tenants that have a key to give and room for it; the first is next. */
  readonly #turns = new Set<Tenant>();
  readonly #laneOfKey = new Map<string, Flow>();

  constructor(bounds: FlowBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#laneOfKey.size;
  }

  has(key: string): boolean {
    return this.#laneOfKey.has(key);
  }

  /** Lines the key up, or moves it where its lane has changed; it keeps the time it has waited since. */
  put(key: string, laneName: string, since: number): void {
    const before = this.#laneOfKey.get(key);
    if (before?.name === laneName) return;
    const waitsSince = before?.waiting.get(key) ?? since;
    if (before !== undefined) this.#take(before, key);
    const lane = this.#lane(laneName);
    lane.waiting.set(key, waitsSince);
    this.#laneOfKey.set(key, lane);
    this.#settle(lane);
  }

  /**
   * The next key whose turn it is, and the hand that gives its place in the lane back; `undefined` when none may run.
   */
  next(): { key: string; since: number; release: () => void } | undefined {
    for (const tenant of this.#turns) {
      for (const lane of tenant.turns) {
        for (const [key, since] of lane.waiting) {
          lane.running += 1;
          tenant.running += 1;
          tenant.turns.delete(lane);
          this.#turns.delete(tenant);
          this.#take(lane, key);
          return { key, since, release: () => this.#release(lane) };
        }
      }
    }
    return undefined;
  }

  /** The key waits no more. */
  remove(key: string): void {
    const lane = this.#laneOfKey.get(key);
    if (lane !== undefined) this.#take(lane, key);
  }

  /** Since when the key has waited that has waited longest. */
  oldest(): number | undefined {
    let oldest: number | undefined;
    for (const lane of new Set(this.#laneOfKey.values())) {
      for (const since of lane.waiting.values()) oldest = oldest === undefined ? since : Math.min(oldest, since);
    }
    return oldest;
  }

  clear(): void {
    for (const [key, lane] of this.#laneOfKey) this.#take(lane, key);
  }

  #release(lane: Flow): void {
    lane.running -= 1;
    lane.tenant.running -= 1;
    this.#settle(lane);
  }

  #take(lane: Flow, key: string): void {
    lane.waiting.delete(key);
    this.#laneOfKey.delete(key);
    this.#settle(lane);
  }

  #lane(name: string): Flow {
    const [tenantName = ""] = name.split("/", 1);
    const tenant = this.#tenants.get(tenantName) ?? {
      name: tenantName,
      lanes: new Map(),
      turns: new Set(),
      running: 0,
    };
    this.#tenants.set(tenantName, tenant);
    const lane = tenant.lanes.get(name) ?? { name, tenant, waiting: new Map(), running: 0 };
    tenant.lanes.set(name, lane);
    return lane;
  }

  /** Puts lane and tenant at the end of the turns, or takes them out; forgets them when nothing waits or runs. */
  #settle(lane: Flow): void {
    const { tenant, waiting, running } = lane;
    if (waiting.size > 0 && running < this.#bounds.perFlow) tenant.turns.add(lane);
    else tenant.turns.delete(lane);
    if (waiting.size === 0 && running === 0) tenant.lanes.delete(lane.name);
    if (tenant.turns.size > 0 && tenant.running < this.#bounds.perTenant) this.#turns.add(tenant);
    else this.#turns.delete(tenant);
    if (tenant.lanes.size === 0) this.#tenants.delete(tenant.name);
  }
}

interface Tenant {
  name: string;
  lanes: Map<string, Flow>;
  /** Its lanes that have a key to give and room for it; the first is next. */
  turns: Set<Flow>;
  running: number;
}

interface Flow {
  name: string;
  tenant: Tenant;
  /** Each waiting key and since when, in the order of arrival. */
  waiting: Map<string, number>;
  running: number;
}
